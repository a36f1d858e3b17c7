import type { LogContext } from '../log/index.ts';
import type { Exchange } from './exchange.ts';
import { LoggedExchange } from './logged-request.ts';
import { requestLineOf, stateKey } from './request.ts';
import { describeFailure, HttpFault } from './status.ts';

/**
 * Ends a request whose handler failed: with 500, or with the status of an `HttpFault`. It never throws, so it can also
 * be called in callbacks, where no caller could catch.
 */
export function failRequest(x: Exchange, error: unknown): void {
  const status = error instanceof HttpFault ? error.status : 500;
  const text = error instanceof HttpFault ? error.message : describeFailure(error);
  x.writeLog(text);
  if (error instanceof HttpFault && error.isFinal) x.errorPagesEnded = true;
  try {
    x.end(status);
  } catch (second) {
    x.writeLog(`${describeFailure(second)} while sending status ${status}`);
    x.abort();
  }
}

const SQLSTATE = stateKey<string>('SQLSTATE');

/** Has the lines about a request from now on tell the code of an error of PostgreSQL. */
export function noteSqlstate(x: Exchange, code: string): void {
  x.setState(SQLSTATE, code);
}

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
    sqlstate: x.state(SQLSTATE),
    about: new LoggedExchange(x),
  };
}
