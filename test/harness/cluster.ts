import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/modules/dbrest/embedded/index.ts';
import { freePort } from './ports.ts';
import { trustAll } from './trust-all.ts';
import type { Services } from './services.ts';

/** A test's database need not survive a crash of the machine, so commits need not wait for the disk. */
const NOT_DURABLE = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_connections: '300',
};

/** `authenticator` logs in and may become the others, as in a dbrest installation. */
const ROLES = `
  create role authenticator login noinherit;
  create role anon;
  create role web_user;
  create role web_admin;
  grant anon, web_user, web_admin to authenticator;
`;

/** Starts the run's PostgreSQL in a directory of its own. */
export async function startCluster(): Promise<Services['postgres'] & { stop(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), 'gw-tests-pg-'));
  // If root starts it, the server runs as another user, which must be able to enter this directory.
  chmodSync(dir, 0o711);
  const dataDir = join(dir, 'pg');
  const host = '127.0.0.1';
  const port = await freePort();
  const settings = { ...NOT_DURABLE, ...trustAll(dir), listen_addresses: host, port: String(port) };
  const server = await startEmbeddedPostgres({
    dataDir,
    settings,
    log: { write: () => undefined },
    binDir: process.env['GW_TEST_POSTGRES'],
  });

  const client = new pg.Client({ host: server.socketDir, port, user: 'postgres', database: 'postgres' });
  await client.connect();
  await client.query(ROLES);
  await client.end();

  const stop = async (): Promise<void> => {
    await server.stop();
    rmSync(realpathSync(dataDir), { recursive: true });
    rmSync(dir, { recursive: true });
  };
  return { host, port, socketDir: server.socketDir, stop };
}
