import { spawn } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { accountOfId, findAccount, helperEnvironment } from '../../../system/index.ts';
import { PLATFORM, type ProgramDirs, programDirs, systemBins } from '../postgres-programs.ts';
import { inStore, keepPackage, linkLibraries } from './store.ts';

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

/** Thrown where no PostgreSQL can be run. */
export class NoProgramsError extends Error {}

/**
 * Finds a directory with `initdb` and `postgres` that run as `account`: that of the npm package, else of the system.
 * Throws a `NoProgramsError` with the reason for each candidate.
 */
export async function findBinaries(account: Account, dirs: ProgramDirs = programDirs()): Promise<string> {
  const refusals: string[] = [];
  for await (const binDir of candidates(dirs, refusals)) {
    const { ok, output } = await runAs(account, join(binDir, 'postgres'), ['--version']);
    if (ok) return binDir;
    refusals.push(output.split('\n', 1)[0] ?? '');
  }
  const reasons = refusals.map((refusal) => ` (${refusal})`).join('');
  throw new NoProgramsError(
    `no PostgreSQL binaries that run on ${PLATFORM} as user "${account.name}"${reasons}`,
  );
}

async function* candidates(
  { packageDirs, storeDir, systemDir }: ProgramDirs,
  refusals: string[],
): AsyncGenerator<string> {
  const refused = ({ message }: Error): undefined => void refusals.push(message);
  for (const packageDir of packageDirs) {
    await linkLibraries(packageDir);
    yield join(packageDir, 'native', 'bin');
    const copy = await copyPackage(packageDir, storeDir).catch(refused);
    if (copy !== undefined) yield join(copy, 'native', 'bin');
  }
  const stored = await inStore(storeDir).catch(refused);
  if (stored !== undefined) yield join(stored, 'native', 'bin');
  yield* systemBins(systemDir);
}

/** Copies the programs (60 MB), once per version, to a directory that only this account can write. */
async function copyPackage(packageDir: string, storeDir: string): Promise<string> {
  const text = await readFile(join(packageDir, 'package.json'), 'utf8');
  const { version } = JSON.parse(text) as { readonly version: string };
  return keepPackage({ storeDir, version }, async (draft) => {
    const filled = join(draft, 'package');
    const script = 'mkdir "$2" && cp -R "$1/native" "$2" && chmod -R u+w,go-w,a+rX "$2"';
    const { ok, output } = await runAs({ name: 'us' }, '/bin/sh', ['-c', script, 'copy', packageDir, filled]);
    if (!ok) throw new Error(output);
    return filled;
  });
}
