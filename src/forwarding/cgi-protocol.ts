import { type ParamConfig, rangeParam } from './params.ts';
import type { Protocol, Target } from './protocol.ts';

/** Returns the common parts of protocols with CGI parameters: no URI, no trailers, and a leading `CONTENT_LENGTH`. */
export function cgiProtocol(
  params: readonly ParamConfig[] | undefined,
  hiddenHeaders: readonly string[],
): Omit<Protocol<Target>, 'targetOf' | 'compileHead'> {
  return {
    uriOf: () => '',
    takesUnknownLength: false,
    range: rangeParam(params),
    defaultKey: (x) => `${x.request.port.scheme}${x.request.host}${x.request.requestUri}`,
    hiddenHeaders,
    rewrites: new Map(),
    passesTrailers: false,
  };
}
