import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { placeOf, type Source } from '../../../../grammar/index.ts';
import type { ErrorLog } from '../../../log/index.ts';
import { loadPg } from '../../../postgres/index.ts';
import { give } from './entrance.ts';
import { type Account, runAs } from './programs.ts';
import { rootDir } from './store.ts';

interface ClusterOptions {
  readonly dataDir: string;
  readonly account: Account;
  readonly binDir: string;
  readonly log: ErrorLog;
}

/** Creates the cluster (superuser `postgres`, UTF-8, locale C) if the directory has none, and returns its real path. */
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

/** Runs initdb in a draft directory and renames it at the end: an interrupted run leaves no incomplete cluster. */
async function createCluster(options: ClusterOptions): Promise<void> {
  const { dataDir, account, log } = options;
  const link = await lstat(dataDir).catch(() => undefined);
  // The link is dangling, and neither rename nor symlink replaces a link.
  if (link?.isSymbolicLink()) await rm(dataDir);
  else if (link && (await readdir(dataDir)).length > 0)
    throw new Error('it is not empty and holds no PostgreSQL cluster');

  await mkdir(dirname(dataDir), { recursive: true });
  await removeDrafts(dataDir, account);
  const draft = await mkdtemp(`${dataDir}${DRAFT}`);
  if (await handOver(draft, account)) {
    await initialise(draft, options);
    await rename(draft, dataDir);
    return;
  }
  await rmdir(draft);
  // Accounts other than root cannot enter root's home directory: such a cluster is elsewhere and linked from there.
  const home = await mkdtemp(join(await rootDir('/var/lib/gw'), 'pg-'));
  await handOver(home, account);
  await initialise(home, options);
  if (link?.isDirectory()) await rmdir(dataDir);
  await symlink(home, dataDir);
  log.write(
    'notice',
    `user "${account.name}" cannot enter "${dirname(dataDir)}": "${dataDir}" links to "${home}"`,
  );
}

const DRAFT = '.draft-';

/** Removes what interrupted runs have left, with the rights of the account alone: its files may be links. */
async function removeDrafts(dataDir: string, account: Account): Promise<void> {
  const uid = account.uid ?? process.getuid?.();
  for (const name of await readdir(dirname(dataDir))) {
    if (!name.startsWith(`${basename(dataDir)}${DRAFT}`)) continue;
    const draft = join(dirname(dataDir), name);
    const found = await lstat(draft).catch(() => undefined);
    if (!found?.isDirectory() || found.uid !== uid) continue;
    await runAs(account, '/bin/sh', ['-c', 'rm -rf "$1"/*', 'remove', draft]);
    await rmdir(draft).catch(() => undefined);
  }
}

/** Gives the directory to the account. Returns false if the account cannot reach it. */
async function handOver(dir: string, account: Account): Promise<boolean> {
  await give(dir, account);
  const { ok } = await runAs(account, '/bin/sh', ['-c', 'cd "$1"', 'reach', dir]);
  return ok;
}

async function initialise(dir: string, { account, binDir }: ClusterOptions): Promise<void> {
  const options = [
    '--username=postgres',
    '--auth-local=peer',
    '--auth-host=reject',
    '--locale=C',
    '--encoding=UTF8',
    '--no-sync',
  ];
  const { ok, output } = await runAs(account, join(binDir, 'initdb'), ['-D', dir, ...options]);
  if (!ok) throw new Error(`initdb failed: ${output.split('\n').at(-1)}`);
}

/** Marks a data directory whose SQL file has run; it never runs again. */
const MARKER = 'gw_init_done';

/** The SQL file of `dbrest_embedded_init` and the server to run it on. */
interface EmbeddedInit {
  readonly dsn: string;
  readonly dataDir: string;
  readonly file: string;
}

/** Runs the operator's SQL file once per database, in one transaction. Rejects with the reason of the database. */
export async function runEmbeddedInit({ dsn, dataDir, file }: EmbeddedInit): Promise<void> {
  const marker = join(dataDir, MARKER);
  if (await exists(marker)) return;
  const sql = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`"dbrest_embedded_init" cannot read "${file}"`, { cause });
  });
  const pg = await loadPg();
  const client = new pg.Client({ connectionString: dsn });
  await client.connect();
  try {
    // A simple query is one transaction. Single-user mode would assign object ids of system tables, to which row-level
    // security does not apply.
    await client.query(sql);
    // The directory belongs to another account: root must not follow a link of it.
    await writeFile(marker, `${file}\n`, { flag: 'wx' });
  } catch (cause) {
    const { message, position } = cause as Error & { readonly position?: string };
    const place = position === undefined ? file : placeIn({ name: file, text: sql }, Number(position));
    throw new Error(`"dbrest_embedded_init" failed: ${message} in ${place}`, { cause });
  } finally {
    await client.end();
  }
}

/** The place of a character in a file; PostgreSQL counts them from 1, in the whole text of a query. */
function placeIn(source: Source, position: number): string {
  const start = Array.from(source.text)
    .slice(0, position - 1)
    .join('').length;
  const { file, line, column } = placeOf({ source, start, end: start });
  return `${file}:${line}:${column}`;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
