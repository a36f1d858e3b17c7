import type { LogContext } from '../log/index.ts';
import type { Exchange } from './exchange.ts';

/** Returns the fields that identify a request in the error log. */
export function logContext(x: Exchange): LogContext {
  const { main } = x;
  const { request } = main;
  return {
    connection: request.serial,
    client: x.remoteAddress,
    server: x.serverName,
    // A request whose head could not be read has no request line.
    ...(request.method !== '' && {
      request: `${request.method} ${request.requestUri} HTTP/${request.httpVersion}`,
    }),
    ...(main !== x && { subrequest: x.uri }),
    ...(request.hostHeader !== undefined && { host: request.hostHeader }),
    ...(request.referrer !== undefined && { referrer: request.referrer }),
  };
}
