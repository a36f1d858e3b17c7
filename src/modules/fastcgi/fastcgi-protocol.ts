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
import { ParamBytes } from './param-bytes.ts';
import { beginRecord, PARAMS_END, RECORD, records, STDIN_END, STDIN_RECORDS } from './records.ts';

/** Compiles what FastCGI brings along for a `fastcgi_pass`. */
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
    targetOf: compileAddress(pass, location, build),
    compileHead: (isForCache) => compileHead(config, isForCache, build),
  };
}

/** Compiles the records in front of the body: the beginning of a request and its parameters. */
function compileHead(config: FastcgiConfig, isForCache: boolean, build: Build): HeadWriter<Target> {
  const { params = [], passRequestHeaders: passesHeaders, keepsConnection } = config;
  const giveParams = compileParams({ params, passesHeaders, isForCache }, build);
  const begin = beginRecord(keepsConnection);
  return (x, { bodyBytes, method }) => {
    const bytes = new ParamBytes();
    giveParams(x, (name, value) => bytes.add(name, method && name === 'REQUEST_METHOD' ? method : value));
    const parts = [begin, records(RECORD.PARAMS, bytes.take()), PARAMS_END];
    if (bodyBytes === 0) parts.push(STDIN_END);
    return {
      head: Buffer.concat(parts),
      ...(bodyBytes !== 0 && { framing: STDIN_RECORDS }),
      method: method ?? x.method,
      upgrades: false,
    };
  };
}
