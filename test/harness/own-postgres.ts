import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/modules/dbrest/embedded/index.ts';
import type { Owner } from './owner.ts';
import { freePort } from './ports.ts';
import { trustAll } from './trust-all.ts';

/** A PostgreSQL that a test may kill, stop and start again. */
interface OwnPostgres {
  /** URI of the superuser. */
  readonly dsn: string;
  readonly port: number;
  /** Repeats a query until the server replies. */
  query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]>;
  /** What the server has written to its log since its last start. */
  log(): Promise<string>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

const AWAY = /ECONNREFUSED|57P0|Connection terminated|ECONNRESET/;

/** Starts a server of its own, which ends with its owner; `fixture` is SQL, `more` are settings of the server. */
export async function ownPostgres(
  t: Owner,
  fixture: string,
  more: Readonly<Record<string, string>> = {},
): Promise<OwnPostgres> {
  const dir = await mkdtemp(join(tmpdir(), 'gw-own-pg-'));
  // When root starts the server, it runs as another user, who needs access to its directory.
  await chmod(dir, 0o711);
  const port = await freePort();
  const own = { port: String(port), fsync: 'off', listen_addresses: '127.0.0.1' };
  const settings = { ...trustAll(dir), ...own, ...more };
  const binDir = process.env['GW_TEST_POSTGRES'];
  const options = { dataDir: join(dir, 'pg'), log: { write: () => undefined }, settings, binDir };
  let server = await startEmbeddedPostgres(options);
  t.onTestFinished(async () => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  });
  const dsn = `postgresql://postgres@127.0.0.1:${port}/postgres`;
  const query = repeating(dsn);
  await query(fixture);
  return {
    dsn,
    port,
    query,
    log: () => readFile(join(options.dataDir, 'server.log'), 'utf8'),
    stop: () => server.stop(),
    start: async () => void (server = await startEmbeddedPostgres(options)),
  };
}

/** Returns the query that is sent again while the server is away. */
function repeating(dsn: string): OwnPostgres['query'] {
  return async <Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> => {
    for (;;) {
      const client = new pg.Client(dsn);
      client.on('error', () => undefined);
      try {
        await client.connect();
        return (await client.query<Row>(sql)).rows;
      } catch (error) {
        if (!AWAY.test(`${String(error)} ${String((error as { code?: unknown }).code)}`)) throw error;
        await sleep(10);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  };
}
