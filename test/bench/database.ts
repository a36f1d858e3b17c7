import { chmodSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/modules/dbrest/embedded/index.ts';
import { call, type CallInit } from '../harness/http.ts';
import { freePort } from '../harness/ports.ts';
import { trustAll } from '../harness/trust-all.ts';
import type { Bench } from './bench.ts';
import { startGw } from './servers.ts';

export interface Database {
  readonly host: string;
  readonly port: number;
  /** Process id of the postmaster. */
  readonly pid: number;
  /** Runs SQL as the superuser. */
  query(sql: string): Promise<void>;
  /** What the server has logged so far. */
  log(): string;
}

/** A statement as it reached the database. */
export interface SeenStatement {
  readonly text: string;
  /** Values of `$1`, `$2`, … */
  readonly values: readonly string[];
}

/** An embedded PostgreSQL with a login role `authenticator` that may become `anon`, filled by `fixture`. */
export async function startDatabase(bench: Bench, fixture: string): Promise<Database> {
  const dir = mkdtempSync(join(bench.dir, 'pg-'));
  chmodSync(dir, 0o711);
  const host = '127.0.0.1';
  const port = await freePort();
  const server = await startEmbeddedPostgres({
    dataDir: join(dir, 'data'),
    settings: { ...trustAll(dir), listen_addresses: host, port: String(port), fsync: 'off' },
    log: { write: () => undefined },
  });
  bench.onTestFinished(() => server.stop());
  // For root's cluster the path is a link to where its other user may write.
  const home = realpathSync(join(dir, 'data'));
  const query = async (sql: string): Promise<void> => {
    const client = new pg.Client({ host, port, user: 'postgres', database: 'postgres' });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };
  await query(
    `create role authenticator login noinherit; create role anon; grant anon to authenticator; ${fixture}`,
  );
  return {
    host,
    port,
    pid: Number.parseInt(readFileSync(join(home, 'postmaster.pid'), 'utf8'), 10),
    query,
    log: () => readFileSync(join(home, 'server.log'), 'utf8'),
  };
}

/** The statements that a gateway with this location sends for one request, read from the database's own log. */
export async function statementsOf(
  bench: Bench,
  database: Database,
  { location, path, init }: { location: string; path: string; init?: CallInit },
): Promise<SeenStatement[]> {
  await database.query(`alter role authenticator set log_statement = 'all'`);
  const gw = await startGw(bench, location);
  // The gateway may still be reading the catalogue during the first request.
  await call(gw.port, path, init);
  const from = database.log().length;
  const { status, body } = await call(gw.port, path, init);
  if (status >= 300) throw new Error(`the gateway answers ${path} with ${status}: ${body}`);
  await database.query('alter role authenticator reset log_statement');
  return readLog(database.log().slice(from));
}

function readLog(log: string): SeenStatement[] {
  const pattern = /LOG: {2}execute [^:]+: (.*)\n(?:.*DETAIL: {2}parameters: (.*)\n)?/gi;
  return [...log.matchAll(pattern)].map(([, text = '', parameters = '']) => ({
    text,
    values: [...parameters.matchAll(/\$\d+ = '((?:[^']|'')*)'/g)].map(([, value = '']) =>
      value.replaceAll(`''`, `'`),
    ),
  }));
}
