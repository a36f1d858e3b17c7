import type { LogContext } from '../log/index.ts';
import type { ExchangeState } from './exchange-state.ts';

/** A request, and the client's request where it is made on behalf of that. */
type Logged = ExchangeState & { readonly main?: ExchangeState };

/** What a request says of itself in the error log. */
export function logContext(x: Logged): LogContext {
  const { main = x } = x;
  return {
    connection: x.serial,
    client: x.remoteAddress,
    server: x.serverName,
    // Of a request that nobody could read there is no line.
    ...(main.requestMethod !== '' && {
      request: `${main.requestMethod} ${main.requestUri} HTTP/${main.httpVersion}`,
    }),
    ...(main !== x && { subrequest: x.uri }),
    ...(main.hostHeader !== undefined && { host: main.hostHeader }),
    ...(main.referrer !== undefined && { referrer: main.referrer }),
  };
}
