import { resolve } from 'node:path';
import { directivesFor, pathFrom, readers } from '../../config/index.ts';
import { type KeySource, readKeySource, readRolePath, type RolePath } from './auth/index.ts';
import { cacheDirectives, type DbrestCacheConfig } from './cache-directives.ts';
import type { CorsOrigins } from './cors.ts';
import { type DbrestPass, passReader } from './dsn.ts';

/** The `dbrest_*` directives of one location. */
export interface DbrestConfig extends DbrestCacheConfig {
  readonly pass?: DbrestPass;
  /** Absolute path of the SQL file that initialises a new embedded database. */
  readonly embeddedInit?: string;
  readonly poolSize: number;
  readonly poolTimeoutMs: number;
  readonly poolQueue: number;
  /** `discard`: a session is reset before each request. */
  readonly poolReset: 'discard' | 'none';
  /** Most batches of a connection that requests share; 0: they share none. */
  readonly pipelining: number;
  readonly timeoutMs: number;
  /** Never empty. The first schema is the default. */
  readonly schemas: readonly string[];
  readonly extraSearchPath: readonly string[];
  readonly anonRole?: string;
  readonly jwtKeys?: KeySource;
  readonly jwtRolePath: RolePath;
  readonly jwtAudience?: string;
  /** Treatment of an invalid token: the anonymous role, or 401. */
  readonly jwtInvalid: 'anon' | 'reject';
  readonly maxRows?: number;
  /** The function that is called before every request: schema and name, or the name alone. */
  readonly preRequest?: readonly string[];
  readonly txEnd: TxEnd;
  readonly settings?: readonly Setting[];
  /** `minimal`: an error response has only `code` and `message`. */
  readonly errorVerbosity: 'verbose' | 'minimal';
  readonly aggregates: boolean;
  /** Which paths call functions: those below `rpc/`, all of them, or none. */
  readonly rpc: 'auto' | 'on' | 'off';
  /** What the OpenAPI description at the root lists: what the role may use, everything, or nothing. */
  readonly openapi: 'follow-privileges' | 'ignore-privileges' | 'off';
  readonly corsOrigins: CorsOrigins;
  readonly plan: boolean;
  readonly serverTiming: boolean;
}

/** How the transaction of a request ends, and whether `Prefer: tx` may override it. */
export type TxEnd = 'commit' | 'commit-allow-override' | 'rollback' | 'rollback-allow-override';

/** `dbrest_setting`: a setting of every request's transaction. */
interface Setting {
  /** Includes the prefix `app.settings.`. */
  readonly name: string;
  readonly value: string;
}

/** The contexts of directives that locations inherit. */
const EVERYWHERE = ['http', 'server', 'location'] as const;

/** Reads a list of names, as one word `"a, b"` or as several. Duplicates are removed. */
const nameList = readers.words<readonly string[]>(
  { syntax: '"name, ..."', min: 1, max: Infinity },
  (list, { directive, report, span }) => {
    const names = list.flatMap(({ value }) => value.split(',')).flatMap((name) => name.trim() || []);
    if (names.length > 0) return [...new Set(names)];
    report.emerg(`no name in "${directive}" directive`, span);
    return undefined;
  },
);

/** Rejects `none`, which to PostgreSQL means that requests run as the login role. */
const role = readers.oneWord<string>('role', (word, { directive, report }) => {
  if (word.value !== '' && word.value !== 'none') return word.value;
  report.emerg(`invalid role in "${directive}" directive`, word.span, 'expected the name of a database role');
  return undefined;
});

/** Reads a secret, a JWK or a JWK set. */
const keySource = readers.oneWord<KeySource>('secret | JWK | JWK set', (word, { directive, report }) => {
  const source = readKeySource(word.value);
  if (!('fault' in source)) return source;
  report.emerg(`invalid value in "${directive}" directive, ${source.fault}`, word.span);
  return undefined;
});

/** Reads the path of the claim that names the role. */
const rolePath = readers.oneWord<RolePath>('name | .path', (word, { directive, report }) => {
  const path = readRolePath(word.value);
  if (!path)
    report.emerg(
      `invalid path in "${directive}" directive`,
      word.span,
      `expected a name, or a path such as ".app.roles[0]" or '.roles[?(@ == "author")]'`,
    );
  return path;
});

const NAME = String.raw`("(?:[^"\0]|"")+"|[^".\0]+)`;
const QUALIFIED = new RegExp(`^${NAME}(?:\\.${NAME})?$`);

/** Reads `schema.function` or `function`, quoted as in SQL. Unquoted names keep their case. */
const functionName = readers.oneWord<readonly string[]>(
  '[schema.]function',
  (word, { directive, report }) => {
    const [, ...names] = QUALIFIED.exec(word.value) ?? [];
    if (names[0] !== undefined) {
      return names.filter(Boolean).map((name) => name.replace(/^"(.*)"$/s, '$1').replaceAll('""', '"'));
    }
    report.emerg(`invalid function in "${directive}" directive`, word.span, 'expected "schema.function"');
    return undefined;
  },
);

const PREFIX = 'app.settings.';

/** Reads the name of a setting, with or without its prefix, and a value. */
const setting = readers.words<Setting>(
  { syntax: 'name value', min: 2, max: 2 },
  ([name, value], { directive, report }) => {
    if (!name || !value) return undefined;
    const full = name.value.startsWith(PREFIX) ? name.value : `${PREFIX}${name.value}`;
    // The names that PostgreSQL accepts for custom settings.
    if (/^[A-Za-z_][\w$]*(\.[A-Za-z_][\w$]*)*$/.test(full)) return { name: full, value: value.value };
    report.emerg(`invalid name "${name.value}" in "${directive}" directive`, name.span);
    return undefined;
  },
);

/** An origin as browsers send it: without a path, even `/`. */
const ORIGIN = /^(?:[a-z][a-z0-9+.-]*:\/\/[^\s/?#]+|null)$/;

/** Reads `*`, `off`, or origins separated by blanks or commas. */
const corsOrigins = readers.words<CorsOrigins>(
  { syntax: '* | off | origin ...', min: 1, max: Infinity },
  (list, { directive, report }) => {
    const origins = list.flatMap(({ value, span }) =>
      value
        .split(',')
        .flatMap((piece) => (piece.trim() ? [{ origin: piece.trim().toLowerCase(), span }] : [])),
    );
    const [first, ...others] = origins;
    if (others.length === 0 && first?.origin === '*') return '*';
    if (others.length === 0 && first?.origin === 'off') return [];
    for (const { origin, span } of origins) {
      if (ORIGIN.test(origin)) continue;
      report.emerg(`invalid origin "${origin}" in "${directive}" directive`, span, 'expected "https://host"');
      return undefined;
    }
    return origins.map(({ origin }) => origin);
  },
);

/** Most batches of a shared connection with `dbrest_pipelining on`. */
const USUAL_PIPELINING = 16;
const MOST_PIPELINING = 64;

/** Reads `on`, `off` or the most batches of a connection; 0 is off. */
const pipelining = readers.oneWord<number>('on | off | number', (word, { directive, report }) => {
  const text = word.value.toLowerCase();
  if (text === 'on') return USUAL_PIPELINING;
  if (text === 'off') return 0;
  const given = /^\d{1,3}$/.test(text) ? Number(text) : NaN;
  if (given >= 1 && given <= MOST_PIPELINING) return given;
  const expected = `expected "on", "off" or a number from 1 to ${MOST_PIPELINING}`;
  report.emerg(`invalid value "${word.value}" in "${directive}" directive`, word.span, expected);
  return undefined;
});

/** The database and the connection pool. */
const connection = directivesFor<DbrestConfig>()({
  dbrest_pass: {
    contexts: ['location'],
    args: passReader,
    into: 'pass',
    inherit: false,
    secret: 'password',
    summary: 'Serves the tables of a PostgreSQL database as REST.',
    source: 'gw',
  },
  dbrest_embedded_init: {
    contexts: EVERYWHERE,
    args: readers.oneWord('file', (word, { confDir }) => resolve(confDir, word.value)),
    into: 'embeddedInit',
    summary: 'SQL that runs once as superuser, when the embedded database is created.',
    roles: pathFrom('confDir'),
    source: 'gw',
  },
  dbrest_pool_size: {
    contexts: EVERYWHERE,
    args: readers.integer({ min: 1, max: 16 }),
    into: 'poolSize',
    default: 16,
    summary:
      'Most connections per database and worker, 1 to 16. Locations with the same database share them, and the largest number counts.',
    source: 'gw',
  },
  dbrest_pool_timeout: {
    contexts: EVERYWHERE,
    args: readers.time,
    into: 'poolTimeoutMs',
    default: 10_000,
    defaultText: '10s',
    summary: 'Longest wait of a request for a connection, 1ms to 1d; then it gets a 504.',
    source: 'gw',
  },
  dbrest_pool_queue: {
    contexts: EVERYWHERE,
    args: readers.integer({ min: 0, max: 1_000_000 }),
    into: 'poolQueue',
    default: 512,
    summary: 'Most requests that wait for a connection in each worker; further ones get a 503.',
    source: 'gw',
  },
  dbrest_pool_reset: {
    contexts: EVERYWHERE,
    args: readers.oneOf('discard', 'none'),
    into: 'poolReset',
    default: 'discard',
    summary:
      'Whether settings, roles, temporary tables and locks that earlier requests left in a connection are discarded before a request ("discard") or kept ("none").',
    source: 'gw',
  },
  dbrest_pipelining: {
    contexts: EVERYWHERE,
    args: pipelining,
    into: 'pipelining',
    default: USUAL_PIPELINING,
    defaultText: 'on',
    summary:
      'Whether requests whose statements are known to be short share connections: "off", or how many of them one connection takes at a time, 1 to 64 ("on" is 16).',
    source: 'gw',
  },
  dbrest_timeout: {
    contexts: EVERYWHERE,
    args: readers.time,
    into: 'timeoutMs',
    default: 15_000,
    defaultText: '15s',
    summary: 'Longest run of a request in the database (statement_timeout).',
    source: 'gw',
  },
});

/** What requests may do and how they are answered. */
const requests = directivesFor<DbrestConfig>()({
  dbrest_schemas: {
    contexts: EVERYWHERE,
    args: nameList,
    into: 'schemas',
    default: ['public'],
    defaultText: 'public',
    summary: 'Schemas that requests may read; the first is the default.',
    source: 'gw',
  },
  dbrest_extra_search_path: {
    contexts: EVERYWHERE,
    args: nameList,
    into: 'extraSearchPath',
    default: ['public'],
    defaultText: 'public',
    summary: 'Schemas that are searched for operators and functions besides the served one.',
    source: 'gw',
  },
  dbrest_max_rows: {
    contexts: EVERYWHERE,
    args: readers.integer({ min: 1 }),
    into: 'maxRows',
    summary: 'Most rows in one response.',
    source: 'gw',
  },
  dbrest_pre_request: {
    contexts: EVERYWHERE,
    args: functionName,
    into: 'preRequest',
    summary: 'Function that runs before every request, as its role and in its transaction.',
    source: 'gw',
  },
  dbrest_tx_end: {
    contexts: EVERYWHERE,
    args: readers.oneOf('commit', 'commit-allow-override', 'rollback', 'rollback-allow-override'),
    into: 'txEnd',
    default: 'commit',
    summary: 'How the transaction of a request ends, and whether "Prefer: tx" may choose.',
    source: 'gw',
  },
  dbrest_setting: {
    contexts: EVERYWHERE,
    args: setting,
    into: 'settings',
    repeat: 'append',
    secret: 'whole',
    summary: 'A setting "app.settings.name" that is set in every request.',
    source: 'gw',
  },
  dbrest_error_verbosity: {
    contexts: EVERYWHERE,
    args: readers.oneOf('verbose', 'minimal'),
    into: 'errorVerbosity',
    default: 'verbose',
    summary:
      'What an error response contains: everything, or code and message alone. The log has everything.',
    source: 'gw',
  },
  dbrest_aggregates: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'aggregates',
    default: true,
    defaultText: 'on',
    summary: 'Allows aggregate functions in "select".',
    source: 'gw',
  },
  dbrest_rpc: {
    contexts: EVERYWHERE,
    args: readers.oneOf('auto', 'on', 'off'),
    into: 'rpc',
    default: 'auto',
    summary:
      'Which paths call functions: "auto", those below "rpc/", and all of a location whose path ends in "/rpc/"; "on", all; "off", none.',
    source: 'gw',
  },
  dbrest_openapi: {
    contexts: EVERYWHERE,
    args: readers.oneOf('follow-privileges', 'ignore-privileges', 'off'),
    into: 'openapi',
    default: 'follow-privileges',
    summary:
      'What the OpenAPI description at the root of a location lists: what the role may use, or everything; "off" disables it.',
    source: 'gw',
  },
  dbrest_cors_origins: {
    contexts: EVERYWHERE,
    args: corsOrigins,
    into: 'corsOrigins',
    default: '*',
    defaultText: '*',
    summary: 'Origins of pages that may read responses; listed ones may send credentials.',
    source: 'gw',
  },
  dbrest_plan: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'plan',
    default: false,
    defaultText: 'off',
    summary: 'Responds with the execution plan where "Accept" asks for it.',
    source: 'gw',
  },
  dbrest_server_timing: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'serverTiming',
    default: false,
    defaultText: 'off',
    summary: 'Reports in "Server-Timing" how long each phase of a request took.',
    source: 'gw',
  },
});

/** Roles and tokens. */
const tokens = directivesFor<DbrestConfig>()({
  dbrest_anon_role: {
    contexts: EVERYWHERE,
    args: role,
    into: 'anonRole',
    summary: 'Database role of unauthenticated requests.',
    source: 'gw',
  },
  dbrest_jwt_secret: {
    contexts: EVERYWHERE,
    args: keySource,
    into: 'jwtKeys',
    secret: 'whole',
    summary: 'Verifies bearer tokens: the secret of HS256, a JSON Web Key or a set of them.',
    source: 'gw',
  },
  dbrest_jwt_role_claim: {
    contexts: EVERYWHERE,
    args: rolePath,
    into: 'jwtRolePath',
    default: ['role'],
    defaultText: 'role',
    summary: 'Claim of a token that names the database role: a name, or a path that may end in a filter.',
    source: 'gw',
  },
  dbrest_jwt_audience: {
    contexts: EVERYWHERE,
    args: readers.text,
    into: 'jwtAudience',
    summary: 'Audience that tokens with an "aud" claim must be meant for.',
    source: 'gw',
  },
  dbrest_jwt_invalid: {
    contexts: EVERYWHERE,
    args: readers.oneOf('anon', 'reject'),
    into: 'jwtInvalid',
    default: 'anon',
    summary: 'What a request with a bad token gets: the anonymous role, or 401.',
    source: 'gw',
  },
});

/** The rows of all `dbrest_*` directives. */
export const directives = { ...connection, ...tokens, ...requests, ...cacheDirectives };
