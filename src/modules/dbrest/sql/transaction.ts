import type { Exchange } from '../../../http/index.ts';
import { quoteIdentifier } from '../../../postgres/index.ts';
import type { Identity } from '../auth/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import type { Plan } from '../plan/index.ts';
import { preferredTimeMs, type RequestHead, type Resource } from '../request/index.ts';
import type { Isolation, RoleSettings } from '../schema/index.ts';
import { callSql, RESPONSE_SETTINGS } from './shape.ts';
import { BEGIN, ROLLBACK, type Statement, type Step } from './statement.ts';

/** The statements of a request between its settings and the end of its transaction. */
export interface Work {
  /** Counts for the head of the response. */
  readonly counts: readonly Step[];
  readonly main: Step;
  /** Run after the main statement. */
  readonly behind?: readonly Step[];
  /** A statement may set the response settings, so they are read at the end. */
  readonly responds?: boolean;
  /** The transaction is always rolled back. */
  readonly undone?: boolean;
  /** The transaction stays open until the results have been checked. */
  readonly held?: boolean;
  readonly readOnly: boolean;
  /** It may be retried on another connection. Statements with effects are never sent twice. */
  readonly repeatable: boolean;
  /** The state that it may leave in the session, if known. */
  readonly leaves?: 'nothing' | 'sequences' | 'settings' | undefined;
  /** Overrides `dbrest_timeout`; 0 means none. */
  readonly timeoutMs?: number | undefined;
  /** Overrides the isolation level of the role. */
  readonly isolation?: Isolation | undefined;
  /** It calls no function by name that could have effects outside of the transaction. */
  readonly contained: boolean;
}

/** The statements of one transaction, with the indexes of their results. */
export interface Statements extends Pick<Work, 'held' | 'isolation' | 'leaves' | 'repeatable' | 'timeoutMs'> {
  readonly before: readonly Step[];
  readonly main: Step;
  readonly after: readonly Step[];
  /** The index of the settings in `before`. */
  readonly settingsAt: number;
  /** The call of `dbrest_pre_request`. */
  readonly preRequest: Step | undefined;
  /** The index of the first count; the counts precede the main statement. */
  readonly firstCount: number;
  /** The index of the row that ends with the response settings; absent if nothing can set them. */
  readonly response: number | undefined;
  /** The time zone that the client asks for. */
  readonly timeZone: string | undefined;
  /**
   * The key of the costs of the transaction, if it may share a session: such a transaction contains its own end, and
   * may be rolled back and run again.
   */
  readonly shares: string | undefined;
}

/** A prepared request, which may be one of several that share a transaction. */
interface PreparedWork {
  readonly plan: RunPlan;
  readonly work: Work;
  /** Present if the transaction begins and ends elsewhere. */
  readonly within?: WithinTransaction;
  /** Present if other requests may get the same response. */
  readonly shared?: SharedView | undefined;
}

/** A transaction that requests share. */
export interface WithinTransaction {
  /** None of its requests writes. */
  readonly readOnly: boolean;
  /** A request before this one has set the time zone. */
  readonly clearsTimeZone: boolean;
}

/** Deferred constraints are checked, so that a request fails with a rollback as it would with a commit. */
const CHECK_DEFERRED: Step = {
  statement: { text: 'set constraints all immediate', values: [] },
  silent: true,
};
const CLEAR_TIME_ZONE: Step = {
  statement: { text: 'set local timezone to default', values: [] },
  silent: true,
};
/**
 * A transaction that has become read-only stays read-only, but a subtransaction can be read-only alone (PostgreSQL
 * source, `CommitSubTransaction`).
 */
const ENCLOSE: Step = { statement: { text: 'savepoint gw_read', values: [] }, silent: true };
const RELEASE: Step = { statement: { text: 'release savepoint gw_read', values: [] }, silent: true };
const READ_RESPONSE: Step = { statement: RESPONSE_SETTINGS };
const NONE: readonly Step[] = [];

/** A plan that runs statements; OPTIONS needs none. */
export type RunPlan = Exclude<Plan, { readonly kind: 'options' }>;

/** Compiles the transaction of a location: settings, `dbrest_pre_request`, the work, the end of the transaction. */
export function compileTransaction(
  config: DbrestConfig,
  requestId?: (x: Exchange) => string | undefined,
): (x: Exchange, identity: Identity, prepared: PreparedWork) => Statements {
  const settings = compileSettings(config, requestId);
  const preRequest: readonly Step[] = config.preRequest ? [{ statement: callSql(config.preRequest) }] : [];

  return (x, identity, { plan: { request, preferences, roleSettings }, work, within, shared }) => {
    const { counts, main, behind = NONE, responds = false, repeatable, leaves, readOnly } = work;
    const { enclose, release } = enclosure(work, within);
    const held = !within && work.held === true;
    const isUndone = !within && (work.undone === true || rollsBack(config, preferences));
    const { timeZone } = preferences;
    const timeoutMs = preferredTimeMs(preferences) ?? work.timeoutMs;
    const order = { identity, head: request.head, readOnly, timeZone, timeoutMs, roleSettings, shared };
    const begin = isUndone || held ? [BEGIN] : NONE;
    const clear = within?.clearsTimeZone ? [CLEAR_TIME_ZONE] : NONE;
    const settingsAt = begin.length + enclose.length + clear.length;
    const firstCount = settingsAt + 1 + preRequest.length;
    const ending = isUndone ? [...(readOnly ? NONE : [CHECK_DEFERRED]), ROLLBACK] : release;
    const isAsked = preRequest.length > 0 ? settingsAt + 1 : undefined;
    return {
      before: [...begin, ...enclose, ...clear, { statement: settings(x, order) }, ...preRequest, ...counts],
      main,
      after: responds ? [...behind, READ_RESPONSE, ...ending] : [...behind, ...ending],
      settingsAt,
      preRequest: preRequest[0],
      firstCount,
      response: responds ? firstCount + counts.length + 1 + behind.length : isAsked,
      held,
      repeatable,
      leaves,
      timeZone,
      timeoutMs,
      isolation: work.isolation ?? roleSettings?.isolation,
      shares:
        !isUndone && !held && timeoutMs === undefined && work.contained ? main.statement.text : undefined,
    };
  };
}

/** Steps around those of a request. */
interface Enclosure {
  readonly enclose: readonly Step[];
  readonly release: readonly Step[];
}

const ENCLOSED: Enclosure = { enclose: [ENCLOSE], release: [RELEASE] };
const BARE: Enclosure = { enclose: NONE, release: NONE };

/** The steps around a request that reads, in a transaction in which others write. */
function enclosure({ readOnly }: Work, within: WithinTransaction | undefined): Enclosure {
  const isEnclosed = readOnly && within?.readOnly === false;
  return isEnclosed ? ENCLOSED : BARE;
}

/** The steps around the requests of one transaction. `held`: it stays open until the results have been checked. */
export function transactionEnds({ isUndone, held }: { readonly isUndone: boolean; readonly held: boolean }): {
  readonly opening: readonly Step[];
  readonly ending: readonly Step[];
} {
  return {
    opening: isUndone || held ? [BEGIN] : [],
    ending: isUndone ? [CHECK_DEFERRED, ROLLBACK] : [],
  };
}

/** Returns whether the transaction is rolled back; a permitted preference decides before `dbrest_tx_end`. */
export function rollsBack({ txEnd }: DbrestConfig, { tx }: Pick<RunPlan['preferences'], 'tx'>): boolean {
  return tx === undefined ? txEnd.startsWith('rollback') : tx === 'rollback';
}

/** The settings of a request, local to its transaction. */
interface RequestSettings {
  readonly role: string;
  readonly searchPath: string;
  readonly readOnly: boolean;
  readonly timeoutMs: number;
  /** The raw token; '' without one. */
  readonly jwt: string;
  /** A JSON object. */
  readonly claims: string;
  readonly method: string;
  /** The path below the location, as PostgREST sees it. */
  readonly path: string;
  /** Path and query as the client sent them. */
  readonly uri: string;
  /** JSON objects of headers and cookies. */
  readonly headers: string;
  readonly cookies: string;
}

const NAMES = [
  'role',
  'search_path',
  'transaction_read_only',
  'statement_timeout',
  'request.jwt',
  'request.jwt.claims',
  'request.method',
  'request.path',
  'request.uri',
  'request.headers',
  'request.cookies',
];

/** The index of the setting that makes a transaction read-only. */
export const READ_ONLY_AT = NAMES.indexOf('transaction_read_only');

/** The range of settings that describe the caller; the others come from the configuration, the role and the schema. */
export const SETTINGS_OF_CALLER = { from: NAMES.indexOf('request.jwt'), to: NAMES.length };

/** Response settings that an earlier request may have left in the session. */
const CLEARED = ['response.headers', 'response.status'];

/**
 * Builds the first statement of every request. Its text depends only on the names of `extra`, which the configuration
 * has validated, and it sets every setting.
 */
function settingsWriter(
  extra: readonly string[] = [],
): (settings: RequestSettings, extraValues?: readonly string[]) => Statement {
  const set = [...NAMES, ...extra].map((name, i) => `pg_catalog.set_config('${name}', $${i + 1}, true)`);
  const cleared = CLEARED.map((name) => `pg_catalog.set_config('${name}', '', true)`);
  // The values are not returned; volatile functions in the subquery run nevertheless.
  const text = `select from (select ${[...set, ...cleared].join(', ')}) s`;
  return (settings, extraValues = []) => ({
    text,
    values: [
      settings.role,
      settings.searchPath,
      settings.readOnly ? 'on' : 'off',
      String(settings.timeoutMs),
      settings.jwt,
      settings.claims,
      settings.method,
      settings.path,
      settings.uri,
      settings.headers,
      settings.cookies,
      ...extraValues,
    ],
  });
}

/** The value of `search_path` for schemas. */
export function searchPath(schemas: readonly string[]): string {
  return schemas.map(quoteIdentifier).join(', ');
}

/** The part of the settings that depends on the plan. Without a time zone the database's own applies. */
interface SettingsOptions {
  readonly identity: Identity;
  readonly head: Pick<RequestHead, 'method' | 'schema' | 'resource'>;
  readonly readOnly: boolean;
  readonly timeZone?: string | undefined;
  /** Overrides `dbrest_timeout`; 0 means none. */
  readonly timeoutMs?: number | undefined;
  /** Settings of the role. */
  readonly roleSettings?: RoleSettings | undefined;
  /** Present if other requests may get the same response. */
  readonly shared?: SharedView | undefined;
}

/** The request as the database sees it, if others may get the same response: nothing in it may differ between them. */
export interface SharedView {
  /** Name, value, name, value … */
  readonly headers: readonly string[];
  readonly uri: string;
}

/** Compiles the settings statement of a location. All that only depends on the configuration is computed once. */
function compileSettings(
  { schemas, extraSearchPath, timeoutMs: usualTimeoutMs, settings = [] }: DbrestConfig,
  requestId?: (x: Exchange) => string | undefined,
): (x: Exchange, order: SettingsOptions) => Statement {
  const paths = new Map(schemas.map((name) => [name, searchPath([...new Set([name, ...extraSearchPath])])]));
  const names = [...settings.map(({ name }) => name), ...(requestId ? ['application_name'] : [])];
  const given = settings.map(({ value }) => value);
  const writersOf = compileWriters(names);
  return (x, { identity, head, readOnly, timeZone, timeoutMs, roleSettings = NO_SETTINGS, shared }) => {
    const { role, jwt, claims } = identity;
    const { plain, zoned } = writersOf(roleSettings);
    const all: RequestSettings = {
      role,
      searchPath: paths.get(head.schema) as string,
      readOnly,
      timeoutMs: timeoutMs ?? Math.min(usualTimeoutMs, roleSettings.timeoutMs ?? Infinity),
      jwt,
      claims,
      // A response to GET is one to HEAD, too.
      method: shared ? 'GET' : head.method,
      path: pathOf(head.resource),
      uri: shared?.uri ?? x.request.requestUri,
      headers: headersJson(
        shared?.headers ?? x.request.headers,
        identity.rejected ? HIDDEN_WITH_TOKEN : HIDDEN,
      ),
      cookies: cookiesJson(shared && !shared.headers.includes('cookie') ? undefined : x.header('cookie')),
    };
    const values = requestId ? [...given, nameOf(requestId(x))] : given;
    const extra = roleSettings.values.length === 0 ? values : [...roleSettings.values, ...values];
    return timeZone === undefined ? plain(all, extra) : zoned(all, [...extra, timeZone]);
  };
}

/**
 * The `application_name` of a request, of at most 63 bytes (NAMEDATALEN). Clients may choose ids: text that could end a field
 * in the log of the database must not get there.
 */
function nameOf(requestId = ''): string {
  return /^[\w.:-]{1,60}$/.test(requestId) ? `gw ${requestId}` : 'gw';
}

/** The path of a resource, wherever its location is: `/`, `/items`, `/rpc/add`. */
function pathOf({ kind, name, isRoot }: Resource): string {
  if (isRoot) return '/';
  return kind === 'function' ? `/rpc/${name}` : `/${name}`;
}

const NO_SETTINGS: RoleSettings = { names: [], values: [] };

type Writer = ReturnType<typeof settingsWriter>;

/**
 * Returns the statement writers for a role, cached by its settings. Later settings win: those of the role, the
 * configuration, the time zone.
 */
function compileWriters(
  names: readonly string[],
): (ofRole: RoleSettings) => { readonly plain: Writer; readonly zoned: Writer } {
  const writers = new WeakMap<RoleSettings, { readonly plain: Writer; readonly zoned: Writer }>();
  return (ofRole) => {
    const known = writers.get(ofRole);
    if (known) return known;
    const all = [...ofRole.names, ...names];
    const made = { plain: settingsWriter(all), zoned: settingsWriter([...all, 'timezone']) };
    writers.set(ofRole, made);
    return made;
  };
}

/** Headers that are not passed on; cookies have their own setting. */
const HIDDEN: ReadonlySet<string> = new Set(['cookie']);
const HIDDEN_WITH_TOKEN: ReadonlySet<string> = new Set([...HIDDEN, 'authorization']);

/** The headers as a JSON object; repeated headers are joined. */
function headersJson(headers: readonly string[], hidden: ReadonlySet<string>): string {
  const byName = new Map<string, string>();
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1] as string;
    const before = byName.get(name);
    if (!hidden.has(name)) byName.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return jsonObject(byName);
}

/** Concatenated by hand: building an object with new keys for every request is slow. */
function jsonObject(members: ReadonlyMap<string, string>): string {
  let json = '';
  for (const [name, value] of members) {
    json += `${json === '' ? '{' : ','}${JSON.stringify(name)}:${JSON.stringify(value)}`;
  }
  return json === '' ? '{}' : `${json}}`;
}

function cookiesJson(header: string | undefined): string {
  if (header === undefined) return '{}';
  const byName = new Map<string, string>();
  for (const piece of header.split(';')) {
    const [name, value = ''] = piece.trim().split(/=(.*)/s);
    if (name) byName.set(name, value);
  }
  return jsonObject(byName);
}
