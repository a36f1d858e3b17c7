import type { Exchange } from '../../../http/index.ts';
import { PoolRefusal, ConnectTimeout } from '../../../postgres/index.ts';
import {
  cannotConnect,
  connectTimedOut,
  connectionLost,
  DbrestFault,
  isTimeout,
  noConnectionFree,
  noTransactions,
  preferredEnd,
  raisedFault,
  refusesTransactions,
  type ServerError,
  serverFault,
  unexpectedResult,
} from '../fault/index.ts';
import { JSON_CONTENT_TYPE } from '../json.ts';
import { notesOf } from '../variables.ts';
import type { Preferences } from '../request/index.ts';
import { ConnectionLost, UnexpectedResult } from '../session/index.ts';
import { setUsualReason } from './head.ts';

/** Converts an error to a fault; `undefined` if the client has gone. Rethrows errors that are defects of gw. */
export function faultOf(
  error: unknown,
  { authenticated }: { authenticated: boolean },
): DbrestFault | undefined {
  if (error instanceof DbrestFault) return error;
  if (error instanceof PoolRefusal) return refusalFault(error);
  if (error instanceof ConnectionLost) {
    return connectionLost(error.message, error.late ? error.message : null);
  }
  if (error instanceof UnexpectedResult) return unexpectedResult(error.message);
  if (!isServerError(error)) throw error;
  if (refusesTransactions(error)) return noTransactions();
  return error.code === 'PGRST' ? raisedFault(error) : serverFault(error, authenticated);
}

/** Returns the error of a request, or the fault of a request that has reached the time that its client prefers. */
export function asPreferred(error: unknown, { timeout }: Preferences): unknown {
  return timeout !== undefined && isServerError(error) && isTimeout(error) ? preferredEnd(error) : error;
}

function refusalFault({ reason, message, cause }: PoolRefusal): DbrestFault | undefined {
  switch (reason) {
    case 'abandoned':
      return undefined;
    case 'late':
      return noConnectionFree(504);
    case 'full':
      return noConnectionFree(503);
    case 'closed':
    case 'unreachable':
      return cause instanceof ConnectTimeout ? connectTimedOut(message) : cannotConnect(message);
  }
}

/** Returns whether an error is from PostgreSQL. A SQLSTATE has five characters; the codes of Node.js are longer. */
export function isServerError(error: unknown): error is ServerError {
  return (
    error instanceof Error &&
    'severity' in error &&
    'code' in error &&
    /^[0-9A-Z]{5}$/.test(String(error.code))
  );
}

/** Sends a fault as JSON. `minimal` omits details and hint. */
export function sendFault(x: Exchange, fault: DbrestFault, verbosity: 'verbose' | 'minimal'): void {
  const notes = notesOf(x);
  if (notes) notes.code = fault.code;
  x.response.setHeader('Proxy-Status', `gw; error=${fault.code}`);
  for (let i = 0; i + 1 < fault.headers.length; i += 2) {
    x.response.setHeader(fault.headers[i] as string, fault.headers[i + 1] as string);
  }
  setUsualReason(x, fault.status);
  if (fault.reason) x.response.setReason(fault.reason);
  x.send(fault.status, JSON_CONTENT_TYPE, fault.body(verbosity));
}
