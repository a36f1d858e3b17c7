import type { LogContext } from '../log/index.ts';
import type { Exchange } from './exchange.ts';

/** What a request says of itself in the error log. */
export function logContext(x: Exchange): LogContext {
  return {
    client: x.remoteAddress,
    server: x.serverName,
    request: `${x.requestMethod} ${x.requestUri} HTTP/1.1`,
    host: x.host,
  };
}
