import { statusLine } from '../../../http/index.ts';
import { DbrestFault } from './fault.ts';

/** The part of a query string that did not parse, in PostgREST's words. */
export type ParsedPart =
  | 'select parameter'
  | 'columns parameter'
  | 'on_conflict parameter'
  | 'filter'
  | 'order'
  | 'having'
  | 'distinct'
  | 'tree path'
  | 'logic tree'
  | 'limit'
  | 'offset'
  | 'query string';

/** What parts of a query that PostgREST has not look like. */
const EXAMPLES: ReadonlyMap<ParsedPart, string> = new Map([
  ['having', 'An aggregate is compared, not a name of the response: "having=amount.sum().gt.100".'],
  ['distinct', 'Rows that differ are "distinct=on.*", the first row for each value "distinct=on.(column)".'],
]);

/** PGRST100, 400. `column` counts code points from 1; `report` reads `unexpected X expecting A, B or C`. */
export function unparsable(
  part: ParsedPart,
  text: string,
  { column, report }: { column: number; report: string },
): DbrestFault {
  const message = `"failed to parse ${part} (${text})" (line 1, column ${column})`;
  const hint = EXAMPLES.get(part) ?? null;
  return new DbrestFault({ code: 'PGRST100', status: 400, message, details: report, hint });
}

/** PGRST100, 400: the request exceeds a limit of gw, and nothing was sent to the database. */
export function tooLarge(what: string): DbrestFault {
  return new DbrestFault({ code: 'PGRST100', status: 400, message: `Request exceeds a limit: ${what}` });
}

/** PGRST103, 416. */
export function rangeNotSatisfiable(details: string, headers: readonly string[] = []): DbrestFault {
  return new DbrestFault({
    code: 'PGRST103',
    status: 416,
    message: 'Requested range not satisfiable',
    details,
    headers,
  });
}

/** PGRST107, 406. */
export function notAcceptable(types: readonly string[]): DbrestFault {
  const message = `None of these media types are available: ${types.join(', ')}`;
  return new DbrestFault({ code: 'PGRST107', status: 406, message });
}

/** PGRST117, 405. */
export function methodNotAllowed(method: string, allowed: string): DbrestFault {
  const message = `Unsupported HTTP method: ${method}`;
  return new DbrestFault({ code: 'PGRST117', status: 405, message, headers: ['Allow', allowed] });
}

/** PGRST125, 404. */
export function invalidPath(): DbrestFault {
  return new DbrestFault({ code: 'PGRST125', status: 404, message: 'Invalid path specified in request URL' });
}

/** PGRST126, 404. */
export function noRoot(): DbrestFault {
  return new DbrestFault({ code: 'PGRST126', status: 404, message: 'Root endpoint metadata is disabled' });
}

/** PGRST100, 400: a malformed `Range` header. */
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

/** PGRST103, 416: the offset is greater than the counted total. */
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

/** PGRST129, 400: the client prefers a longer time than the request may take. */
export function timeoutTooLong(seconds: number, mostMs: number): DbrestFault {
  return new DbrestFault({
    code: 'PGRST129',
    status: 400,
    message: 'Timeout preference exceeds the statement timeout with handling=strict',
    details: `timeout=${seconds} is longer than ${mostMs / 1000} seconds`,
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

/** PGRST102, 400. */
export function invalidJson(): DbrestFault {
  return invalidBody('Empty or invalid json');
}

/** The first element of a list that is not an object with the keys of the first one. It counts from 1. */
export interface OtherElement {
  readonly element: number;
  /** A key that only one of both has; absent if the element is not an object. */
  readonly key?: string | undefined;
  readonly isMissing?: boolean;
}

/** PGRST102, 400: the rows of a body have different keys, or the arguments of calls. */
export function unequalKeys({ element, key, isMissing }: OtherElement, of: 'rows' | 'calls'): DbrestFault {
  const message = 'All object keys must match';
  if (key === undefined) return invalidBody(message, `Element ${element} of the list is not an object.`);
  const has = isMissing ? `has no '${key}'` : `has '${key}', which the first one has not`;
  const more =
    of === 'rows' ? ', and "Prefer: missing=default" gives defaults for those that are missing' : '';
  return invalidBody(
    message,
    `Element ${element} of the list ${has}: "columns=" names the keys that count${more}.`,
  );
}

/** PGRST102, 400. `line`: the number of the line that differs. */
export function unequalLines(line: number | undefined): DbrestFault {
  const hint = line === undefined ? null : `Line ${line} differs from the header.`;
  return invalidBody('All lines must have same number of fields', hint);
}

/** PGRST102, 400. `why` must not contain parts of the body. */
export function invalidBody(why: string, hint: string | null = null): DbrestFault {
  return new DbrestFault({ code: 'PGRST102', status: 400, message: why, hint });
}

/** PGRST102, 415. */
export function unreadableBody(type: string): DbrestFault {
  const message = `Content-Type not acceptable: ${type}`;
  return new DbrestFault({ code: 'PGRST102', status: 415, message });
}

/** PGRST102, 415: the content of a QUERY is a form. */
export function unreadableQuery(given: string | undefined, type: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST102',
    status: 415,
    message: given === undefined ? 'Content-Type is missing' : `Content-Type not acceptable: ${given}`,
    details: `The content of a QUERY has the parameters that a URL would have, as ${type}.`,
    headers: ['Accept-Query', `"${type}"`],
  });
}

/** DBREST115, 400: a POST stands for another method than the only one that it may stand for. */
export function otherOverride(only: string): DbrestFault {
  return new DbrestFault({
    code: 'DBREST115',
    status: 400,
    message: `X-HTTP-Method-Override takes ${only} only`,
    details: 'The request was not run.',
    hint: 'Send the method itself, or a POST without this header.',
  });
}

/** DBREST116, 403: `limit_except` refuses one of the methods that the request is, or treats them differently. */
export function barredOverride(method: string): DbrestFault {
  return new DbrestFault({
    code: 'DBREST116',
    status: 403,
    message: `X-HTTP-Method-Override: ${method} is not allowed here`,
    details: `The configuration has other rules for a ${method} than for a POST.`,
  });
}

/** PGRST102, 415: compressed bodies are not supported. */
export function unreadableEncoding(encoding: string): DbrestFault {
  const message = `Content-Encoding not acceptable: ${encoding}`;
  return new DbrestFault({
    code: 'PGRST102',
    status: 415,
    message,
    headers: ['Accept-Encoding', 'identity'],
  });
}

/** A limit of the size of a body; `of` says what has it. */
export interface BodyLimit {
  readonly bytes: number;
  readonly of: 'client_max_body_size' | 'query' | 'message';
}

const LIMITED = {
  client_max_body_size: '"client_max_body_size" allows',
  query: 'The content of a QUERY has at most',
  message: 'A message has at most',
};

/** PGRST102, 413. */
export function bodyTooLarge({ of, bytes }: BodyLimit): DbrestFault {
  const message = 'The request body is too large';
  return new DbrestFault({ code: 'PGRST102', status: 413, message, hint: `${LIMITED[of]} ${bytes} bytes.` });
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

/** DBREST106, 400: an element of a body has no value for its key, or the key of another one. `element` counts from 1. */
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

/** PGRST300, 500: a token was sent, no secret is configured, and invalid tokens are rejected. */
export function noSecret(): DbrestFault {
  return new DbrestFault({ code: 'PGRST300', status: 500, message: 'Server lacks JWT secret' });
}

/** PGRST301, 401: the token cannot be decoded or verified. */
export function undecodableToken(message: string, details: string | null = null): DbrestFault {
  return tokenFault('PGRST301', message, details);
}

/** PGRST302, 401. */
export function anonymousDisabled(): DbrestFault {
  return new DbrestFault({
    code: 'PGRST302',
    status: 401,
    message: 'Anonymous access is disabled',
    headers: ['WWW-Authenticate', 'Bearer'],
  });
}

/** PGRST303, 401: the token is genuine, but its claims are not acceptable. */
export function badClaims(message: string): DbrestFault {
  return tokenFault('PGRST303', message, null);
}

/** 22023, 401, in PostgreSQL's words: the role of a token must not be passed to `set role`. */
export function noRole(role: string): DbrestFault {
  return new DbrestFault({
    code: '22023',
    status: 401,
    message: `role "${role}" does not exist`,
    headers: ['WWW-Authenticate', 'Bearer'],
  });
}

/** 42501, 403, in PostgreSQL's words. */
export function roleNotPermitted(role: string): DbrestFault {
  return new DbrestFault({
    code: '42501',
    status: 403,
    message: `permission denied to set role "${role}"`,
  });
}

function tokenFault(code: string, message: string, details: string | null): DbrestFault {
  const challenge = `Bearer error="invalid_token", error_description="${message}"`;
  return new DbrestFault({ code, status: 401, message, details, headers: ['WWW-Authenticate', challenge] });
}

const LONG_READS =
  'A read may have its parameters in the body of a QUERY, or of a POST with "X-HTTP-Method-Override: QUERY".';

/** DBREST130: gw has refused the request, by a directive or because it is malformed; the database was not asked. */
export function refusedByGateway(status: number): DbrestFault {
  const message = `The gateway refuses the request: ${statusLine(status).slice(4)}`;
  const hint = status === 414 ? LONG_READS : null;
  return new DbrestFault({ code: 'DBREST130', status, message, hint });
}
