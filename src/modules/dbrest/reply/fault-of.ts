import { PoolRefusal } from '../../../pool/index.ts';
import {
  cannotConnect,
  connectionLost,
  DbrestFault,
  noConnectionFree,
  raisedFault,
  serverFault,
  unexpectedResult,
} from '../fault/index.ts';
import type { ServerError } from '../fault/index.ts';
import { ConnectionLost, UnexpectedResult } from '../session/index.ts';

/** The answer to whatever went wrong; `undefined` when nobody is left to be answered. Throws what is no failure of a request. */
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
  return error.code === 'PGRST' ? raisedFault(error) : serverFault(error, authenticated);
}

function refusalFault({ reason, message }: PoolRefusal): DbrestFault | undefined {
  switch (reason) {
    case 'abandoned':
      return undefined;
    case 'late':
      return noConnectionFree(504);
    case 'full':
      return noConnectionFree(503);
    case 'closed':
    case 'unreachable':
      return cannotConnect(message);
  }
}

/** A SQLSTATE is five characters; Node's own codes are words. */
function isServerError(error: unknown): error is ServerError {
  return (
    error instanceof Error &&
    'severity' in error &&
    'code' in error &&
    /^[0-9A-Z]{5}$/.test(String(error.code))
  );
}
