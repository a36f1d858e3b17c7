import type { LogContext } from '../log/index.ts';
import type { Exchange } from './exchange.ts';

/** What a request says of itself in the error log. */
export function logContext(x: Exchange): LogContext {
  const { main } = x;
  const { request } = main;
  return {
    connection: request.serial,
    client: x.remoteAddress,
    server: x.serverName,
    // Of a request that nobody could read there is no line.
    ...(request.method !== '' && {
      request: `${request.method} ${request.requestUri} HTTP/${request.httpVersion}`,
    }),
    ...(main !== x && { subrequest: x.uri }),
    ...(request.hostHeader !== undefined && { host: request.hostHeader }),
    ...(request.referrer !== undefined && { referrer: request.referrer }),
  };
}
