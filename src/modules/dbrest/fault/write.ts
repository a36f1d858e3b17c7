import { DbrestFault } from './dbrest-fault.ts';

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

/** PGRST124, 400: the write affects more rows than `max-affected`; it is rolled back. */
export function tooManyAffected(rows: number): DbrestFault {
  return new DbrestFault({
    code: 'PGRST124',
    status: 400,
    message: 'Query result exceeds max-affected preference constraint',
    details: `The query affects ${rows} rows`,
  });
}

/** DBREST105, 400: the elements of a PATCH have no key that says which rows each of them changes. */
export function keylessElements(table: string, key: readonly string[]): DbrestFault {
  return new DbrestFault({
    code: 'DBREST105',
    status: 400,
    message: 'Each element of a PATCH needs the key of the rows that it changes',
    details:
      key.length > 0
        ? `The key is (${key.join(', ')}), and the elements do not have all of it.`
        : `'${table}' has no primary key, and "on_conflict" names no columns.`,
    hint: 'Add the key to each element, name other columns with "on_conflict", or send one object for all rows.',
  });
}

/** DBREST106, 400: an element of a body has a null in its key, or the key of another one. `element` counts from 1. */
export function unfitElement(element: number, key: readonly string[], why: 'null' | 'repeated'): DbrestFault {
  const names = `(${key.join(', ')})`;
  return new DbrestFault({
    code: 'DBREST106',
    status: 400,
    message: 'Each element of the body needs a key of its own',
    details:
      why === 'null'
        ? `Element ${element} has null in its key ${names}.`
        : `Element ${element} has the same key ${names} as one before it.`,
  });
}

/** DBREST107, 400: the elements of a PATCH choose the rows. */
export function rangeByKey(): DbrestFault {
  return new DbrestFault({
    code: 'DBREST107',
    status: 400,
    message: 'limit and offset are not allowed for a PATCH whose elements have keys',
  });
}

/** DBREST108, 400: PostgreSQL merges rows by unique indexes only. */
export function mergesByExclusion(constraint: string): DbrestFault {
  return unmergeable(
    `Rows cannot be merged by the exclusion constraint "${constraint}"`,
    'A row may conflict with several others, so it is not clear which of them to change.',
  );
}

/** DBREST108, 400: `on_conflict=*` with `resolution=merge-duplicates`. */
export function mergesByAny(): DbrestFault {
  return unmergeable(
    'Rows cannot be merged by any constraint',
    'It is not clear which row to change: "on_conflict" has to name the columns of a key.',
  );
}

function unmergeable(message: string, details: string): DbrestFault {
  const hint = 'Duplicates can be left out instead: "Prefer: resolution=ignore-duplicates".';
  return new DbrestFault({ code: 'DBREST108', status: 400, message, details, hint });
}

/** DBREST109, 400: a member of a body cannot be rows of another table. */
export function nestsNothing(member: string, details: string): DbrestFault {
  return nestingFault(`The rows in '${member}' cannot be inserted with those around them`, details);
}

/** DBREST109, 400. */
export function unequalNestedKeys(member: string): DbrestFault {
  return nestingFault(`The rows in '${member}' differ`, 'All of them must be objects with the same keys.');
}

/** DBREST109, 400. */
export function nestedTooDeep(member: string, most: number): DbrestFault {
  return nestingFault(
    `The rows in '${member}' are nested too deep`,
    `At most ${most} levels of them are inserted.`,
  );
}

/** DBREST109, 400: a column comes from the rows around it, or from those in another member. */
export function givenTwice(column: string, from: string): DbrestFault {
  const whose = from === '' ? 'the row around it' : `'${from}'`;
  return nestingFault(`The column '${column}' is given twice`, `It gets its value from ${whose}.`);
}

/** DBREST109, 400: rows would be dropped. */
export function leftOutMember(member: string): DbrestFault {
  return nestingFault(
    `"columns" leaves out '${member}', which has rows`,
    'Rows of related tables are inserted if "columns" names their member.',
  );
}

/** DBREST109, 400: rows are missing, so that others would refer to the wrong ones. */
export function leftOutRows(): DbrestFault {
  return nestingFault(
    'Not every row was inserted',
    'A trigger or a rule has left out rows that have others nested in them.',
  );
}

function nestingFault(message: string, details: string): DbrestFault {
  return new DbrestFault({ code: 'DBREST109', status: 400, message, details });
}

/** PGRST204, 400: an unknown column in the body or in `columns`. */
export function noWrittenColumn(table: string, column: string): DbrestFault {
  const message = `Could not find the '${column}' column of '${table}' in the schema cache`;
  return new DbrestFault({ code: 'PGRST204', status: 400, message });
}

/** PGRST127, 400: `limit` on a write needs a key that identifies rows. */
export function notLimitable(table: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST127',
    status: 400,
    message: 'Feature not implemented',
    details: `limit and offset need a primary key to change or delete rows of '${table}'.`,
  });
}

/** PGRST127, 400: rows to be changed or deleted cannot be chosen by groups. */
export function groupedWrite(): DbrestFault {
  return new DbrestFault({
    code: 'PGRST127',
    status: 400,
    message: 'Feature not implemented',
    details: 'Groups of rows cannot be written: "having", "distinct" and orders by aggregates are for reads.',
  });
}

/** DBREST101, 412: a condition of the request does not hold. Nothing was changed. */
export function conditionFailed(details: string): DbrestFault {
  return new DbrestFault({
    code: 'DBREST101',
    status: 412,
    message: 'A condition of the request does not hold',
    details,
  });
}

/** DBREST103, 400: `If-Match` is not a list of entity tags, or a very long one. */
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
