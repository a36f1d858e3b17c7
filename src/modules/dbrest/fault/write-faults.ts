import { DbrestFault } from './dbrest-fault.ts';

/** PGRST102, 400. */
export function invalidJson(): DbrestFault {
  return invalidBody('Empty or invalid json');
}

/** PGRST102, 400: rows that do not have the same columns. */
export function unequalKeys(): DbrestFault {
  return invalidBody('All object keys must match');
}

/** PGRST102, 400. */
export function unequalLines(): DbrestFault {
  return invalidBody('All lines must have same number of fields');
}

/** PGRST102, 400. `why`: without anything of the body in it. */
export function invalidBody(why: string): DbrestFault {
  return new DbrestFault({ code: 'PGRST102', status: 400, message: why });
}

/** PGRST102, 415. */
export function unreadableBody(type: string): DbrestFault {
  const message = `Content-Type not acceptable: ${type}`;
  return new DbrestFault({ code: 'PGRST102', status: 415, message });
}

/** PGRST102, 415: a body is never decompressed here. */
export function unreadableEncoding(encoding: string): DbrestFault {
  const message = `Content-Encoding not acceptable: ${encoding}`;
  return new DbrestFault({
    code: 'PGRST102',
    status: 415,
    message,
    headers: ['Accept-Encoding', 'identity'],
  });
}

/** PGRST102, 413. */
export function bodyTooLarge(): DbrestFault {
  return new DbrestFault({ code: 'PGRST102', status: 413, message: 'The request body is too large' });
}

/** PGRST105, 405. */
export function notByKey(): DbrestFault {
  const message = `Filters must include all and only primary key columns with 'eq' operators`;
  return new DbrestFault({ code: 'PGRST105', status: 405, message });
}

/** PGRST114, 400. */
export function rangeOfPut(): DbrestFault {
  const message = 'limit/offset querystring parameters are not allowed for PUT';
  return new DbrestFault({ code: 'PGRST114', status: 400, message });
}

/** PGRST115, 400. */
export function otherKey(): DbrestFault {
  const message = 'Payload values do not match URL in primary key column(s)';
  return new DbrestFault({ code: 'PGRST115', status: 400, message });
}

/** PGRST124, 400: more rows than the client allowed; the change is undone. */
export function tooManyAffected(rows: number): DbrestFault {
  return new DbrestFault({
    code: 'PGRST124',
    status: 400,
    message: 'Query result exceeds max-affected preference constraint',
    details: `The query affects ${rows} rows`,
  });
}

/** PGRST204, 400: a column of the body or of `columns`. */
export function noWrittenColumn(table: string, column: string): DbrestFault {
  const message = `Could not find the '${column}' column of '${table}' in the schema cache`;
  return new DbrestFault({ code: 'PGRST204', status: 400, message });
}

/** PGRST127, 400: `limit` on a write needs something that tells one row from another. */
export function notLimitable(table: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST127',
    status: 400,
    message: 'Feature not implemented',
    details: `limit and offset need a primary key to change or delete rows of '${table}'.`,
  });
}
