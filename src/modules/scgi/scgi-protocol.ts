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
import { HttpFault } from '../../http/index.ts';
import type { ScgiConfig } from './config.ts';
import { SCHEMES } from './directives.ts';

/** Compiles what SCGI brings along for a `scgi_pass`. */
export function compileScgi(
  pass: PassAddress,
  config: ScgiConfig,
  { provisioned, build }: { readonly provisioned: Provisioned; readonly build: Build },
): Protocol<Target> {
  const address = { config, provisioned, directive: 'scgi_pass', schemes: SCHEMES, defaultPort: 0 };
  return {
    ...cgiProtocol(config.params, ['Status']),
    targetOf: compileAddress(pass, address, build),
    compileHead: (isForCache) => compileHead(config, isForCache, build),
  };
}

/** Compiles the parameters in front of the body: a netstring that begins with `CONTENT_LENGTH` (SCGI specification). */
function compileHead(config: ScgiConfig, isForCache: boolean, build: Build): HeadWriter<Target> {
  const { params = [], passRequestHeaders: passesHeaders } = config;
  const giveParams = compileParams({ params, passesHeaders, isForCache }, build);
  return (x, { bodyBytes, method }) => {
    let text = `CONTENT_LENGTH\0${bodyBytes}\0`;
    const add = (name: string, value: string): void => {
      if (name === 'CONTENT_LENGTH') return;
      if (value.includes('\0')) throw new HttpFault(400, `NUL in the value of "${name}" for an upstream`);
      text += `${name}\0${value}\0`;
    };
    giveParams(x, add, method);
    const head = Buffer.from(`${Buffer.byteLength(text)}:${text},`);
    return { head, method: method ?? x.method };
  };
}
