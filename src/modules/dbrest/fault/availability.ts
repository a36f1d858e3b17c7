import { DbrestFault } from './dbrest-fault.ts';

const retryAfter = ['Retry-After', '1'];

/** PGRST000, 503: no connection can be opened. What the driver says of it names hosts and roles. */
export function cannotConnect(driverText: string): DbrestFault {
  const message = 'Database connection error.';
  return new DbrestFault({
    code: 'PGRST000',
    status: 503,
    message,
    logged: driverText,
    headers: retryAfter,
  });
}

/** PGRST001, 503: a connection broke, or was given up for a reason of ours, which the client is told. */
export function connectionLost(driverText: string, ownReason: string | null): DbrestFault {
  const message = 'Database client error. Retrying the connection.';
  return new DbrestFault({
    code: 'PGRST001',
    status: 503,
    message,
    details: ownReason,
    logged: driverText,
    headers: retryAfter,
  });
}

/** PGRST002, 503. */
export function noSchemaCache(): DbrestFault {
  const message = 'Could not query the database for the schema cache. Retrying.';
  return new DbrestFault({ code: 'PGRST002', status: 503, message, headers: retryAfter });
}

/** PGRST003: 504 when the wait for a connection was too long, 503 when the line is full. */
export function noConnectionFree(status: 503 | 504): DbrestFault {
  const message = 'Timed out acquiring connection from connection pool.';
  return new DbrestFault({ code: 'PGRST003', status, message, headers: status === 503 ? retryAfter : [] });
}

/** PGRSTX00, 500. */
export function unexpectedResult(text: string): DbrestFault {
  return new DbrestFault({ code: 'PGRSTX00', status: 500, message: text });
}
