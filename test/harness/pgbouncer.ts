import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { launch } from './launch.ts';
import type { Owner } from './owner.ts';
import { freePort } from './ports.ts';
import type { TestDatabase } from './postgres.ts';
import { service } from './services.ts';

export type PoolMode = 'transaction' | 'session' | 'statement';

interface PoolerOptions {
  readonly mode: PoolMode;
  /** More of its settings: `max_prepared_statements = 100`. */
  readonly settings?: readonly string[];
}

/** A PgBouncer in front of a database. */
export interface TestPooler {
  /** The connection string of the database by way of the pooler, for whoever logs in as in `TestDatabase.dsn`. */
  readonly dsn: string;
  /** That of the superuser. */
  readonly adminDsn: string;
}

/** The version of the program that the tests have, for example 1.18. */
export async function pgbouncerVersion(): Promise<number> {
  const { program } = await service('pgbouncer');
  const { stdout } = await promisify(execFile)(program, ['-V']);
  return Number(/^PgBouncer (\d+\.\d+)/.exec(stdout)?.[1]);
}

/** It does not run as root, and this account is on every system. */
const ACCOUNT = 'nobody';

/** Starts a PgBouncer in front of a database; it ends with its owner. */
export async function pgbouncer(t: Owner, db: TestDatabase, options: PoolerOptions): Promise<TestPooler> {
  const { program } = await service('pgbouncer');
  const dir = mkdtempSync(join(tmpdir(), 'gw-pgbouncer-'));
  const port = await freePort();
  const conf = join(dir, 'pgbouncer.ini');
  writeFileSync(join(dir, 'users'), '"authenticator" ""\n"postgres" ""\n');
  writeFileSync(conf, configuration(db, { ...options, dir, port }));
  chmodSync(dir, 0o755);
  const account = process.getuid?.() === 0 ? ['-u', ACCOUNT] : [];
  const running = launch(program, [...account, conf], { cwd: dir });
  t.onTestFailed?.(() => console.error(running.output()));
  t.onTestFinished(async () => {
    // SIGTERM lets it wait for its clients.
    await running.stop('SIGKILL');
    rmSync(dir, { recursive: true });
  });
  await running.waitForOutput(/process up: PgBouncer/);
  const through = (dsn: string): string => dsn.replace(`:${db.port}/`, `:${port}/`);
  return { dsn: through(db.dsn), adminDsn: through(db.adminDsn) };
}

function configuration(
  { host, port: serverPort, database }: TestDatabase,
  { mode, settings = [], dir, port }: PoolerOptions & { readonly dir: string; readonly port: number },
): string {
  return [
    '[databases]',
    `${database} = host=${host} port=${serverPort} dbname=${database}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${join(dir, 'users')}`,
    `pool_mode = ${mode}`,
    // Fewer than those who ask, so that they get each other's sessions.
    'default_pool_size = 5',
    'max_client_conn = 500',
    'log_connections = 0',
    'log_disconnections = 0',
    'log_pooler_errors = 0',
    ...settings,
    '',
  ].join('\n');
}
