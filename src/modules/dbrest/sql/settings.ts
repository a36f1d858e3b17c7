import type { Exchange } from '../../../http/index.ts';
import type { Identity } from '../auth/index.ts';
import type { DbrestConfig } from '../directives.ts';
import type { RoleSettings } from '../schema/index.ts';
import { quoteIdentifier, type Statement } from './statement.ts';

/** What the database learns of a request; it all ends with the request's implicit transaction. */
interface RequestSettings {
  readonly role: string;
  readonly searchPath: string;
  readonly readOnly: boolean;
  readonly timeoutMs: number;
  /** The raw token, '' when none was sent. */
  readonly jwt: string;
  /** JSON object. */
  readonly claims: string;
  readonly method: string;
  readonly path: string;
  /** JSON objects by header and cookie name. */
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
  'request.headers',
  'request.cookies',
];

/** What a request of before may have left in the session for a response that is not its own. */
const CLEARED = ['response.headers', 'response.status'];

/**
 * The statement that runs in front of every request's own: always the same text for the same `extra` names (which are
 * plain, as the configuration checked), every setting set every time.
 */
function settingsWriter(
  extra: readonly string[] = [],
): (settings: RequestSettings, extraValues?: readonly string[]) => Statement {
  const set = [...NAMES, ...extra].map((name, i) => `pg_catalog.set_config('${name}', $${i + 1}, true)`);
  const cleared = CLEARED.map((name) => `pg_catalog.set_config('${name}', '', true)`);
  // Nobody needs the values back: what is volatile runs all the same.
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
      settings.headers,
      settings.cookies,
      ...extraValues,
    ],
  });
}

/** Schema names as the value of `search_path`. */
export function searchPath(schemas: readonly string[]): string {
  return schemas.map(quoteIdentifier).join(', ');
}

/** Who asks, for which schema, in which time zone (absent: the database's own), and whether to read only. */
export interface SettingsOptions {
  readonly identity: Identity;
  readonly schema: string;
  readonly readOnly: boolean;
  readonly timeZone?: string | undefined;
  /** Instead of `dbrest_timeout`; 0: none. */
  readonly timeoutMs?: number | undefined;
  /** What the role brings with it. */
  readonly roleSettings?: RoleSettings | undefined;
}

/** The statement that tells the database of a request. What the configuration alone decides is decided here. */
export function compileSettings({
  schemas,
  extraSearchPath,
  timeoutMs: usualTimeoutMs,
  settings = [],
}: DbrestConfig): (x: Exchange, order: SettingsOptions) => Statement {
  const paths = new Map(schemas.map((name) => [name, searchPath([...new Set([name, ...extraSearchPath])])]));
  const names = settings.map(({ name }) => name);
  const values = settings.map(({ value }) => value);
  const writersOf = compileWriters(names);
  return (x, { identity, schema, readOnly, timeZone, timeoutMs, roleSettings = NO_SETTINGS }) => {
    const { role, jwt, claims } = identity;
    const { plain, zoned } = writersOf(roleSettings);
    const all: RequestSettings = {
      role,
      searchPath: paths.get(schema) as string,
      readOnly,
      timeoutMs: timeoutMs ?? Math.min(usualTimeoutMs, roleSettings.timeoutMs ?? Infinity),
      jwt,
      claims,
      method: x.method,
      path: x.uri,
      headers: headersJson(x.request.headers, identity.rejected ? HIDDEN_WITH_TOKEN : HIDDEN),
      cookies: cookiesJson(x.header('cookie')),
    };
    const extra = roleSettings.values.length === 0 ? values : [...roleSettings.values, ...values];
    return timeZone === undefined ? plain(all, extra) : zoned(all, [...extra, timeZone]);
  };
}

const NO_SETTINGS: RoleSettings = { names: [], values: [] };

type Writer = ReturnType<typeof settingsWriter>;

/** Writers of a role's settings, those of the configuration and a time zone: what comes later wins. */
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

/** Cookies have a setting of their own. */
const HIDDEN: ReadonlySet<string> = new Set(['cookie']);
const HIDDEN_WITH_TOKEN: ReadonlySet<string> = new Set([...HIDDEN, 'authorization']);

/** Repeated names joined. */
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

/** Written piece by piece: an object with names of its own in every request would be slow. */
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
