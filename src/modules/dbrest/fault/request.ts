import { statusLine } from '../../../http/index.ts';
import { DbrestFault } from './dbrest-fault.ts';

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

/** Examples of the parts of a query that PostgREST does not have. */
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

/** DBREST115, 400: a POST stands for a method for which it may not stand. */
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

/** A limit of the size of a body; `of`: the thing that has it. */
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

/** PGRST300, 500: a token was sent, no secret is configured, and invalid tokens are rejected. */
export function noSecret(): DbrestFault {
  return new DbrestFault({ code: 'PGRST300', status: 500, message: 'Server lacks JWT secret' });
}

/** PGRST300, 500: the keys at a URL are not known; `reason` is for the log. */
export function noKeys(reason: string): DbrestFault {
  return new DbrestFault({
    code: 'PGRST300',
    status: 500,
    message: 'Server lacks the keys of the token issuer',
    headers: ['Retry-After', '5'],
    logged: reason,
  });
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
