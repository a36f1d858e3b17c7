import { resolve } from 'node:path';
import { directivesFor, pathFrom, readers } from '../../../config/index.ts';
import type { DbrestConfig } from '../config.ts';
import { passReader } from '../dsn/index.ts';
import { EVERYWHERE } from './readers.ts';

/** Which database, and how it is reached. */
export const connection = directivesFor<DbrestConfig>()({
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
    summary: 'Most connections per database and worker.',
    source: 'gw',
  },
  dbrest_pool_timeout: {
    contexts: EVERYWHERE,
    args: readers.time,
    into: 'poolTimeoutMs',
    default: 10_000,
    defaultText: '10s',
    summary: 'Longest wait of a request for a connection.',
    source: 'gw',
  },
  dbrest_pool_queue: {
    contexts: EVERYWHERE,
    args: readers.integer({ min: 0, max: 1_000_000 }),
    into: 'poolQueue',
    default: 512,
    summary: 'Most requests that wait for a connection.',
    source: 'gw',
  },
  dbrest_pool_reset: {
    contexts: EVERYWHERE,
    args: readers.oneOf('discard', 'none'),
    into: 'poolReset',
    default: 'discard',
    summary:
      'Whether a request meets settings, roles, temporary tables and locks that functions of earlier ones left in its connection: "discard", nothing of it; "none", all.',
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
