import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from './launch.ts';
import type { Owner } from './owner.ts';
import { freePort } from './ports.ts';

export type PoolMode = 'transaction' | 'session' | 'statement';

export interface PoolerOptions {
  readonly mode: PoolMode;
  /** More of its settings: `max_prepared_statements = 100`. */
  readonly settings?: readonly string[];
}

/** The server behind a pooler. */
export interface PooledServer {
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

/** PgBouncer does not run as root, and this account is on every system. */
const ACCOUNT = 'nobody';

/** Starts a PgBouncer in front of a database; it ends with its owner. Returns its port. */
export async function startPgbouncer(
  t: Owner,
  {
    program,
    server,
    ...options
  }: PoolerOptions & { readonly program: string; readonly server: PooledServer },
): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'gw-pgbouncer-'));
  const port = await freePort();
  const conf = join(dir, 'pgbouncer.ini');
  writeFileSync(join(dir, 'users'), '"authenticator" ""\n"postgres" ""\n');
  writeFileSync(conf, configuration(server, { ...options, dir, port }));
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
  return port;
}

function configuration(
  { host, port: serverPort, database }: PooledServer,
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
    // Fewer sessions than clients, so that they get each other's.
    'default_pool_size = 5',
    'max_client_conn = 500',
    'log_connections = 0',
    'log_disconnections = 0',
    'log_pooler_errors = 0',
    ...settings,
    '',
  ].join('\n');
}
