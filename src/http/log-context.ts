import type { LogContext } from '../log/index.ts';
import type { Exchange } from './exchange.ts';
import { requestLineOf } from './request-facts.ts';

/** Returns the fields that identify a request in the error log. */
export function logContext(x: Exchange): LogContext {
  const { main } = x;
  const { request } = main;
  return {
    connection: request.serial,
    client: x.remoteAddress,
    server: x.serverName,
    request: requestLineOf(request),
    ...(main !== x && { subrequest: x.uri }),
    ...(request.hostHeader !== undefined && { host: request.hostHeader }),
    ...(request.referrer !== undefined && { referrer: request.referrer }),
  };
}
