import { resolve } from 'node:path';
import { directivesFor, pathFrom, readers } from '../../../config/index.ts';
import { type DbrestPass, passReader } from './dbrest-pass.ts';

/** Where requests run: the database, its sessions and their limits. */
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
