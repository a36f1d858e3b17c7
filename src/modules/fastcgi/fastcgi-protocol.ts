import type { Build } from '../../contract/index.ts';
import {
  cgiProtocol,
  compileAddress,
  compileParams,
  type HeadWriter,
  type PassAddress,
  type Protocol,
  type Provisioned,
  type Target,
} from '../../forwarding/index.ts';
import type { FastcgiConfig } from './config.ts';
import { paramText } from './param-text.ts';
import {
  beginRecord,
  MOST_RECORD_BYTES,
  PARAMS_END,
  paramRecords,
  REQUEST_END,
  STDIN_RECORDS,
} from './records.ts';

/** Compiles the FastCGI protocol of a `fastcgi_pass`. */
export function compileFastcgi(
  pass: PassAddress,
  config: FastcgiConfig,
  { provisioned, build }: { readonly provisioned: Provisioned; readonly build: Build },
): Protocol<Target> {
  const location = {
    config,
    provisioned,
    directive: 'fastcgi_pass',
    schemes: { '': 'fastcgi' },
    defaultPort: 0,
  };
  return {
    ...cgiProtocol(config.params, ['Status']),
    // An empty record ends the body.
    takesUnknownLength: true,
    targetOf: compileAddress(pass, location, build),
    compileHead: (isForCache) => compileHead(config, isForCache, build),
  };
}

/** Compiles the records in front of the body: the beginning of a request and its parameters. */
function compileHead(config: FastcgiConfig, isForCache: boolean, build: Build): HeadWriter<Target> {
  const { params: rules = [], passRequestHeaders: passesHeaders, keepsConnection } = config;
  const giveParams = compileParams({ params: rules, passesHeaders, isForCache }, build);
  const begin = beginRecord(keepsConnection);
  return (x, { bodyBytes, method }) => {
    let records = begin;
    let params = '';
    const add = (name: string, value: string): void => {
      const text = paramText(name, value);
      // A record ends between parameters if it can: the ids of a trace are replaced in the finished head.
      if (params.length + text.length > MOST_RECORD_BYTES) {
        records += paramRecords(params);
        params = '';
      }
      params += text;
    };
    giveParams(x, add, method);
    records += paramRecords(params);
    const asked = { encoding: 'latin1', method: method ?? x.method } as const;
    if (bodyBytes === 0) return { ...asked, head: records + REQUEST_END };
    return { ...asked, head: records + PARAMS_END, framing: STDIN_RECORDS };
  };
}
