import { DbrestFault } from './dbrest-fault.ts';
import { rangeNotSatisfiable } from './faults.ts';

/** PGRST100, 400: a `Range` header that is none. */
export function malformedRange(range: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST100',
    status: 400,
    message: `"failed to parse range (${range})" (line 1, column 1)`,
    details: 'unexpected text expecting "first-last" or "first-"',
  });
}

/** PGRST103, 416. */
export function lowerAboveUpper(): DbrestFault {
  return rangeNotSatisfiable(
    'The lower boundary must be lower than or equal to the upper boundary in the Range header.',
  );
}

/** PGRST103, 416: the rows are counted, and there are fewer. */
export function offsetBeyond(offset: number, total: number): DbrestFault {
  const details = `An offset of ${offset} was requested, but there are only ${total} rows.`;
  return rangeNotSatisfiable(details, ['Content-Range', `*/${total}`]);
}

/** PGRST116, 406. */
export function notSingular(rows: number): DbrestFault {
  return new DbrestFault({
    code: 'PGRST116',
    status: 406,
    message: 'Cannot coerce the result to a single JSON object',
    details: `The result contains ${rows} rows`,
  });
}

/** PGRST122, 400. */
export function invalidPreferences(invalid: readonly string[]): DbrestFault {
  return new DbrestFault({
    code: 'PGRST122',
    status: 400,
    message: 'Invalid preferences given with handling=strict',
    details: `Invalid preferences: ${invalid.join(', ')}`,
  });
}

/** PGRST111, 500. */
export function malformedResponseHeaders(): DbrestFault {
  const message =
    'response.headers guc must be a JSON array composed of objects with a single key and a string value';
  return new DbrestFault({ code: 'PGRST111', status: 500, message });
}

/** PGRST112, 500. */
export function malformedResponseStatus(): DbrestFault {
  const message = 'response.status guc must be a valid status code';
  return new DbrestFault({ code: 'PGRST112', status: 500, message });
}
