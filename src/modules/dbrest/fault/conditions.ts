import { DbrestFault } from './fault.ts';

/** DBREST101, 412: a condition of the request does not hold. Nothing was changed. */
export function conditionFailed(details: string): DbrestFault {
  return new DbrestFault({
    code: 'DBREST101',
    status: 412,
    message: 'A condition of the request does not hold',
    details,
  });
}

/** DBREST103, 400: `If-Match` is no list of entity tags, or a very long one. */
export function malformedIfMatch(): DbrestFault {
  return new DbrestFault({
    code: 'DBREST103',
    status: 400,
    message: 'Malformed "If-Match" header',
    details: 'Expected "*", or at most 100 entity tags: "a", "b".',
  });
}

/** DBREST102, 400: `If-Match` names versions, and rows of the table have none. It must not be ignored. */
export function rowVersionsUnknown(table: string, column: string | undefined): DbrestFault {
  return new DbrestFault({
    code: 'DBREST102',
    status: 400,
    message: `"If-Match" cannot be checked for '${table}'`,
    details:
      column === undefined
        ? 'Versions of rows are not enabled here (dbrest_row_version).'
        : `'${table}' has no column '${column}' with the versions of its rows.`,
    hint: 'Leave the header out, or send "If-Match: *" to change only what is there.',
  });
}

/** DBREST104, 400: the condition has no meaning for the method. */
export function conditionUnsupported(header: 'If-Match' | 'If-None-Match'): DbrestFault {
  return new DbrestFault({
    code: 'DBREST104',
    status: 400,
    message: `"${header}" cannot be checked for this request`,
    hint: 'PATCH, PUT and DELETE take "If-Match", PUT takes "If-None-Match: *".',
  });
}
