import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ErrorLog } from '../../../log/index.ts';
import { runAs } from './account.ts';
import type { Account } from './account.ts';

/** Root's home is closed to the server's account, so a cluster below it lives here and is linked from there. */
const SYSTEM_HOME = '/var/lib/gw';

interface ClusterOptions {
  readonly dataDir: string;
  readonly account: Account;
  readonly binDir: string;
  readonly log: ErrorLog;
}

/** Creates the database cluster (superuser `postgres`, UTF-8, locale C) where there is none; gives its real path. */
export async function openCluster(options: ClusterOptions): Promise<string> {
  const { dataDir, log } = options;
  if (!(await exists(join(dataDir, 'PG_VERSION')))) {
    const startMs = performance.now();
    await createCluster(options);
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    log.write('notice', `created a PostgreSQL cluster in "${dataDir}" in ${seconds} s`);
  }
  return realpath(dataDir);
}

/** initdb works on a draft that takes the final name last, so that an interrupted one leaves nothing behind to trip over. */
async function createCluster(options: ClusterOptions): Promise<void> {
  const { dataDir, account, log } = options;
  const link = await lstat(dataDir).catch(() => undefined);
  // Its target is gone (`PG_VERSION` was not found), and neither rename nor symlink replaces a link.
  if (link?.isSymbolicLink()) await rm(dataDir);
  else if (link && (await readdir(dataDir)).length > 0)
    throw new Error('it is not empty and holds no PostgreSQL cluster');

  const draft = `${dataDir}.draft`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true });
  if (await prepare(draft, account)) {
    await initialise(draft, options);
    await rename(draft, dataDir);
    return;
  }
  await rmdir(draft);
  await mkdir(SYSTEM_HOME, { recursive: true });
  const home = await mkdtemp(join(SYSTEM_HOME, 'pg-'));
  await prepare(home, account);
  await initialise(home, options);
  if (link?.isDirectory()) await rmdir(dataDir);
  await symlink(home, dataDir);
  log.write(
    'notice',
    `user "${account.name}" cannot enter "${dirname(dataDir)}": "${dataDir}" links to "${home}"`,
  );
}

/** Hands the directory to the account; false when a directory above keeps the account out. */
async function prepare(dir: string, account: Account): Promise<boolean> {
  await chmod(dir, 0o700);
  if (account.uid !== undefined && account.gid !== undefined) await chown(dir, account.uid, account.gid);
  const { ok } = await runAs(account, '/bin/sh', ['-c', 'cd "$1"', 'reach', dir]);
  return ok;
}

async function initialise(dir: string, { account, binDir }: ClusterOptions): Promise<void> {
  const options = ['--username=postgres', '--auth=trust', '--locale=C', '--encoding=UTF8', '--no-sync'];
  const { ok, output } = await runAs(account, join(binDir, 'initdb'), ['-D', dir, ...options]);
  if (!ok) throw new Error(`initdb failed: ${output.split('\n').at(-1)}`);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
