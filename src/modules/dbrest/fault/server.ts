import { hasLostObject } from '../../../postgres/index.ts';
import { isObject, parseJson } from '../../../json.ts';
import { DbrestFault, type FaultShape } from './dbrest-fault.ts';

/** The fields of a PostgreSQL error that are used in a response. */
export interface ServerError {
  readonly code: string;
  readonly message: string;
  readonly detail?: string | undefined;
  readonly hint?: string | undefined;
  /** The function in PostgreSQL's source that raised the error. */
  readonly routine?: string | undefined;
}

type StatusOf = number | ((error: ServerError, authenticated: boolean) => number);

/** Status by SQLSTATE prefix. The first match wins. */
const STATUSES: readonly (readonly [prefix: string, status: StatusOf])[] = [
  ['08', 503],
  ['09', 500],
  ['0L', 403],
  ['0P', 403],
  ['23503', 409],
  ['23505', 409],
  ['25006', 405],
  ['21000', ({ message }) => (message.endsWith('requires a WHERE clause') ? 400 : 500)],
  ['22023', ({ message }) => (/^role .* does not exist$/s.test(message) ? 401 : 400)],
  ['25', 500],
  ['2D', 500],
  ['38', 500],
  ['39', 500],
  ['3B', 500],
  ['40001', 409],
  ['40P01', 409],
  ['40', 500],
  ['28', 403],
  ['53400', 500],
  ['53', 503],
  ['54', 500],
  ['55', 500],
  ['57P01', 503],
  ['57', 500],
  ['58', 500],
  ['F0', 500],
  ['HV', 500],
  ['P0001', 400],
  ['P0', 500],
  ['XX', (error) => (hasLostObject(error) ? 503 : 500)],
  ['42883', ({ message }) => (message.startsWith('function xmlagg(') ? 406 : 404)],
  ['42P01', 404],
  ['42P17', 500],
  ['42501', (_, authenticated) => (authenticated ? 403 : 401)],
  ['PT', ({ code }) => chosenStatus(code)],
];

/**
 * Errors whose messages may name hosts, roles and paths. Clients get the title of their class or code instead
 * (PostgreSQL, Appendix A). `XX000` is not among them: extensions and procedural languages use it for messages to their
 * callers. Neither is 53400, whose message says which limit of the configuration was reached.
 */
const TITLES: readonly (readonly [prefix: string, title: string])[] = [
  ['08', 'connection exception'],
  ['28', 'invalid authorization specification'],
  ['3D', 'invalid catalog name'],
  ['530', 'insufficient resources'],
  ['531', 'insufficient resources'],
  ['532', 'insufficient resources'],
  ['533', 'insufficient resources'],
  ['57P', 'operator intervention'],
  ['58', 'system error'],
  ['F0', 'configuration file error'],
  ['HV00N', 'unable to establish connection'],
  ['XX001', 'data corrupted'],
  ['XX002', 'index corrupted'],
];

/** The text for the client. The message of a PL/pgSQL `raise` is meant for it, whatever the code. */
function clientText(error: ServerError): Pick<FaultShape, 'message' | 'details' | 'hint' | 'logged'> {
  const { code, message, detail = null, routine } = error;
  const [, title] = TITLES.find(([prefix]) => code.startsWith(prefix)) ?? [];
  if (title === undefined || routine === 'exec_stmt_raise') {
    return { message, details: detail, hint: error.hint ?? ownHint(error) };
  }
  return { message: title, logged: detail === null ? message : `${message}: ${detail}` };
}

/** The response to a PostgreSQL error. `authenticated`: the role differs from the anonymous one. */
export function serverFault(error: ServerError, authenticated: boolean): DbrestFault {
  const status = statusOf(error, authenticated);
  return new DbrestFault({
    code: error.code,
    status,
    ...clientText(error),
    ...(error.code.startsWith('PT') && { reason: error.message }),
    headers: status === 401 ? ['WWW-Authenticate', 'Bearer'] : status === 503 ? ['Retry-After', '1'] : [],
  });
}

function statusOf(error: ServerError, authenticated: boolean): number {
  const [, of] = STATUSES.find(([prefix]) => error.code.startsWith(prefix)) ?? ['', 400];
  return typeof of === 'number' ? of : of(error, authenticated);
}

/** Returns whether a statement has reached its `statement_timeout`. Cancelling by an administrator has that code. */
export function isTimeout({ code, message }: ServerError): boolean {
  return code === '57014' && message.endsWith('statement timeout');
}

/** The response to an error for which `isTimeout` is true, where the client has chosen the time. */
export function preferredEnd(error: ServerError): DbrestFault {
  const { code, message } = error;
  return new DbrestFault({ code, status: statusOf(error, true), message, isWished: true });
}

/** Returns a hint for errors for which PostgreSQL has no hint. */
function ownHint(error: ServerError): string | null {
  const { code, message } = error;
  if (hasLostObject(error))
    return 'Something was replaced in the database meanwhile, and the request was rolled back: send it again.';
  if (code === '42P10' && message.includes('ON CONFLICT'))
    return '"on_conflict" names the columns of the primary key or of a unique or exclusion constraint, all of them and no others.';
  const isUngroupable =
    code === '42883' && message.startsWith('could not identify an equality operator for type');
  return isUngroupable
    ? 'Rows are grouped by every column beside an aggregate: cast it, for example to jsonb or text.'
    : null;
}

/** The status `nnn` of the code `PTnnn`; 500 when it cannot be sent. */
function chosenStatus(code: string): number {
  const digits = /^PT([2-5]\d\d)$/.exec(code);
  return digits ? Number(digits[1]) : 500;
}

const MESSAGE_HINT =
  "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and optional keys: 'details', 'hint'.";
const DETAIL_HINT =
  "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and optional key: 'status_text'.";

/** `raise sqlstate 'PGRST'`: MESSAGE and DETAIL are the response; PGRST121 when they are malformed. */
export function raisedFault({ message, detail }: ServerError): DbrestFault {
  const body = readMessage(message);
  if (!body) return unparsableRaise(`Invalid JSON value for MESSAGE: '${message}'`, MESSAGE_HINT);
  if (detail === undefined) return unparsableRaise('DETAIL is missing in the RAISE statement', DETAIL_HINT);
  const head = readDetail(detail);
  if (!head) return unparsableRaise(`Invalid JSON value for DETAIL: '${detail}'`, DETAIL_HINT);
  return new DbrestFault({ ...body, ...head });
}

function readMessage(json: string) {
  const value = parseJson(json);
  if (!isObject(value)) return undefined;
  const { code, message, details, hint } = value;
  const valid = isText(code) && isText(message) && isOptionalText(details) && isOptionalText(hint);
  return valid ? { code, message, details: details ?? null, hint: hint ?? null } : undefined;
}

function readDetail(json: string): Pick<FaultShape, 'status' | 'reason' | 'headers'> | undefined {
  const value = parseJson(json);
  if (!isObject(value)) return undefined;
  const { status, status_text: reason, headers } = value;
  // 1xx is not a final status, and a status has three digits.
  const known = typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599;
  if (!known || !isObject(headers) || !isOptionalText(reason)) return undefined;
  const pairs = Object.entries(headers);
  if (!pairs.every(([, text]) => isText(text))) return undefined;
  return { status, reason: reason ?? undefined, headers: pairs.flat() as string[] };
}

function unparsableRaise(details: string, hint: string): DbrestFault {
  const message = `Could not parse JSON in the "RAISE SQLSTATE 'PGRST'" error`;
  return new DbrestFault({ code: 'PGRST121', status: 500, message, details, hint });
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isOptionalText(value: unknown): value is string | null | undefined {
  return value === undefined || value === null || typeof value === 'string';
}

const retryAfter = ['Retry-After', '1'];

/** PGRST000, 503: no connection can be opened. The driver's message may name hosts and roles: only the log has it. */
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

/** PGRST001, 503: a connection was lost, or closed by gw for a reason that the client may see. */
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

/** PGRST003, 504: no connection was made within `connect_timeout`. The text names the host, so only the log has it. */
export function connectTimedOut(logged: string): DbrestFault {
  return new DbrestFault({ code: 'PGRST003', status: 504, message: NO_CONNECTION, logged });
}

const NO_CONNECTION = 'Timed out acquiring connection from connection pool.';

/** PGRST003: 504 when no connection became free in time, 503 when the queue is full. */
export function noConnectionFree(status: 503 | 504): DbrestFault {
  const headers = status === 503 ? retryAfter : [];
  return new DbrestFault({ code: 'PGRST003', status, message: NO_CONNECTION, headers });
}

/** The message of PgBouncer, and of no other, for a transaction of several round trips. */
const NO_TRANSACTIONS = 'transaction blocks not allowed in statement pooling mode';

/** Returns whether a pooler has refused the transaction of a request because it runs statement by statement. */
export function refusesTransactions({ message }: ServerError): boolean {
  return message === NO_TRANSACTIONS;
}

/** DBREST126, 501: a request whose result is checked before the commit, behind such a pooler. */
export function noTransactions(): DbrestFault {
  return new DbrestFault({
    code: 'DBREST126',
    status: 501,
    message: 'This request needs a transaction that the connection pooler does not have',
    details: 'What it changes is checked before the commit, which is a round trip of its own.',
    hint: 'Let the pooler in front of the database pool transactions or sessions instead of statements.',
    logged: NO_TRANSACTIONS,
  });
}

/** PGRSTX00, 500. */
export function unexpectedResult(text: string): DbrestFault {
  return new DbrestFault({ code: 'PGRSTX00', status: 500, message: text });
}

/** The code of `tooCostly`. */
export const TOO_COSTLY = 'DBREST100';

/** DBREST100, 400: the planner expects the request to cost more than `dbrest_max_cost` allows. Nothing was executed. */
export function tooCostly(cost: number, limit: number): DbrestFault {
  return new DbrestFault({
    code: TOO_COSTLY,
    status: 400,
    message: 'The request would cost the database too much',
    details: `The estimated cost is ${cost}, at most ${limit} is allowed.`,
    hint: 'Filter by an indexed column, or ask for fewer rows with "limit".',
  });
}
