import type { Build } from '../../contract/index.ts';
import {
  cgiProtocol,
  compileAddress,
  compileParams,
  compileTlsName,
  type HeadWriter,
  type PassAddress,
  type Protocol,
  type Provisioned,
  type Target,
} from '../../forwarding/index.ts';
import { HttpFault } from '../../http/index.ts';
import type { UwsgiConfig } from './config.ts';
import { SCHEMES } from './directives.ts';

/** Compiles what uwsgi brings along for a `uwsgi_pass`. */
export function compileUwsgi(
  pass: PassAddress,
  config: UwsgiConfig,
  { provisioned, build }: { readonly provisioned: Provisioned; readonly build: Build },
): Protocol<Target> {
  const address = { config, provisioned, directive: 'uwsgi_pass', schemes: SCHEMES, defaultPort: 0 };
  return {
    ...cgiProtocol(config.params, []),
    targetOf: compileAddress(pass, { ...address, tlsScheme: 'suwsgi' }, build),
    compileHead: (isForCache) => compileHead(config, isForCache, build),
    tls: { nameOf: compileTlsName(config, build), sendsName: config.sslServerName },
  };
}

/** The size of all parameters stands in two bytes. */
const MOST_BYTES = 65_535;

/** Compiles the packet in front of the body: its header and the parameters (uWSGI documentation, "The uwsgi Protocol"). */
function compileHead(config: UwsgiConfig, isForCache: boolean, build: Build): HeadWriter<Target> {
  const { params = [], passRequestHeaders: passesHeaders, modifier1, modifier2 } = config;
  const behind = Buffer.from(config.string);
  const giveParams = compileParams({ params, passesHeaders, isForCache }, build);
  return (x, { method }) => {
    const parts: Buffer[] = [];
    giveParams(x, (name, value) => void parts.push(...sized(name), ...sized(value)), method);
    const size = parts.reduce((sum, { length }) => sum + length, 0);
    const header = Buffer.from([modifier1, size & 0xff, size >> 8, modifier2].map((byte) => byte & 0xff));
    if (size > MOST_BYTES) throw new HttpFault(500, `uwsgi request is too large: ${size} bytes`);
    return { head: Buffer.concat([header, ...parts, behind]), method: method ?? x.method };
  };
}

/** A text behind its length, which has two bytes. */
function sized(text: string): readonly [Buffer, Buffer] {
  const bytes = Buffer.from(text);
  return [Buffer.from([bytes.length & 0xff, (bytes.length >> 8) & 0xff]), bytes];
}
