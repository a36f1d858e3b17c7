import { type ParamConfig, rangeParam } from './params.ts';
import type { Protocol, Target } from './protocol.ts';

/** Gives what protocols with CGI parameters have in common: no URI, no trailers, and `CONTENT_LENGTH` in front of the body. */
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
