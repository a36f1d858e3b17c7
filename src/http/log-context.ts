import type { LogContext } from '../log/index.ts';
import type { ExchangeState } from './exchange-state.ts';

/** What a request says of itself in the error log. */
export function logContext(x: ExchangeState): LogContext {
  return {
    client: x.remoteAddress,
    server: x.serverName,
    request: `${x.requestMethod} ${x.requestUri} HTTP/${x.httpVersion}`,
    host: x.host,
  };
}
