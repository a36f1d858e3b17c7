import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import type { Span, Word } from '../../../../grammar/index.ts';
import { directivesFor, pathFrom, readers, type ReadScope } from '../../../config/index.ts';
import { type ConnectionTarget, processSurroundings, readDsn, targetName } from '../../../postgres/index.ts';

/** The database of `dbrest_pass`: a server, or the embedded one with its absolute data directory. */
export type DbrestPass =
  | { readonly kind: 'server'; readonly target: ConnectionTarget }
  | { readonly kind: 'embedded'; readonly dir: string };

/** The superuser of the embedded server, which gw logs in as. */
export const EMBEDDED_ROLE = 'postgres';

/** The role that gw logs in with. */
export function loginRoleOf(pass: DbrestPass): string {
  return pass.kind === 'embedded' ? EMBEDDED_ROLE : (pass.target.user ?? userInfo().username);
}

/** The identity of a database and a login role, without the password; the same in each run. */
export function identityOf(pass: DbrestPass): string {
  if (pass.kind === 'embedded') return `embedded ${pass.dir}`;
  return JSON.stringify([targetName(pass.target), pass.target.user, pass.target.options]);
}

/** The data directory of the embedded database if `dbrest_pass` names none. */
export const DEFAULT_EMBEDDED_DIR = '.gw/pg';

/** Reads the arguments of `dbrest_pass`: `embedded[:dir]`, a URI, or keywords, as one quoted word or several words. */
export const passReader = readers.words<DbrestPass>(
  { syntax: 'dsn | embedded[:dir]', min: 1, max: Infinity },
  (list, scope) => {
    const { directive, prefix, report } = scope;
    if (namesFile(list[0] as Word, scope)) return undefined;
    const embedded = list.length === 1 ? /^embedded(?::(.+))?$/.exec((list[0] as Word).value) : null;
    if (embedded) return { kind: 'embedded', dir: resolve(prefix, embedded[1] ?? DEFAULT_EMBEDDED_DIR) };

    const warn = (message: string): void => report.warn(`"${directive}": ${message}`, (list[0] as Word).span);
    const read = readDsn(list.map((word) => word.value).join(' '), { ...processSurroundings(), warn });
    if (!('fault' in read)) return { kind: 'server', target: read };
    const { fault } = read;
    const { word, span } = spanOf(list, fault.start, fault.end);
    // The message may quote a part of the connection string, which may be secret.
    const message = word.secret && !fault.isPublic ? 'malformed connection string' : fault.message;
    report.emerg(`invalid value in "${directive}" directive, ${message}`, span, {
      hint: fault.hint,
      rule: 'dbrest-dsn',
    });
    return undefined;
  },
);

/** Maps offsets in the joined words to a span in the source; the whole word if unquoting has shifted its characters. */
function spanOf(list: readonly Word[], start: number, end: number): { word: Word; span: Span } {
  let offset = 0;
  for (const word of list) {
    const last = word === list.at(-1);
    if (start < offset + word.value.length || last) {
      const from = word.span.start + word.quote.length;
      const verbatim = word.span.source.text.startsWith(word.value, from);
      if (!verbatim || word.value === '') return { word, span: word.span };
      const first = Math.min(start - offset, word.value.length - 1);
      const until = Math.max(first + 1, Math.min(end - offset, word.value.length));
      return { word, span: { source: word.span.source, start: from + first, end: from + until } };
    }
    offset += word.value.length + 1;
  }
  throw new Error('a directive has at least one word');
}

/**
 * Refuses `@file`, for which PostgREST reads a file: here it would be taken for the value itself, and the name of a
 * file is no secret. `${file:…}` reads a file. Returns whether it was refused.
 */
export function namesFile({ value, secret, span }: Word, { directive, report }: ReadScope): boolean {
  if (!value.startsWith('@')) return false;
  const path = secret ? 'path' : value.slice(1);
  report.emerg(
    `"${directive}" takes no "@file"`,
    span,
    `write \${file:${path}} to read the value from a file`,
  );
  return true;
}

/** The database of requests, its sessions and their limits. */
export interface ConnectionConfig {
  readonly pass?: DbrestPass;
  /** Absolute path of the SQL file that initialises a new embedded database. */
  readonly embeddedInit?: string;
  readonly poolSize: number;
  readonly poolTimeoutMs: number;
  readonly poolQueue: number;
  /** Age at which a session is closed. */
  readonly poolLifetimeMs: number;
  /** `discard`: a session is reset before each request. */
  readonly poolReset: 'discard' | 'none';
  /** Most batches of a connection that requests share; 0: they share none. */
  readonly pipelining: number;
  /** `auto`: unless a connection pooler is in between. */
  readonly preparedStatements: 'on' | 'off' | 'auto';
  readonly timeoutMs: number;
  /** Settings in the database replace directives of the file. */
  readonly databaseSettings: boolean;
}

const EVERYWHERE = ['http', 'server', 'location'] as const;

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
export const connectionDirectives = directivesFor<ConnectionConfig>()({
  dbrest_pass: {
    contexts: ['location'],
    args: passReader,
    into: 'pass',
    inherit: 'nameless',
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
      'Maximum number of connections per database and worker, 1 to 16. Locations with the same database share them, and the largest number counts.',
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
    summary: 'Maximum number of requests that wait for a connection in each worker; further ones get a 503.',
    source: 'gw',
  },
  dbrest_pool_lifetime: {
    contexts: EVERYWHERE,
    args: readers.time,
    into: 'poolLifetimeMs',
    default: 1_800_000,
    defaultText: '30m',
    summary:
      'Age at which a connection is closed, once it is not in use, 1s to 1d. Of locations with the same database the shortest counts.',
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
  dbrest_prepared_statements: {
    contexts: EVERYWHERE,
    args: readers.oneOf('on', 'off', 'auto'),
    into: 'preparedStatements',
    default: 'auto',
    summary:
      'Whether statements are prepared: "auto" prepares them unless a connection pooler is in between, "on" behind a pooler, too (for poolers that keep sessions or know prepared statements), "off" never.',
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
  dbrest_config: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'databaseSettings',
    default: false,
    defaultText: 'off',
    summary:
      'Whether settings "pgrst.*" and "app.settings.*" that "alter role ... set" gives the login role replace those of the file, as db-config of PostgREST. They are read with the schema, and on NOTIFY pgrst, \'reload config\'; until then requests get 503.',
    source: 'gw',
  },
});
