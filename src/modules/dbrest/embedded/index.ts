import { spawn } from 'node:child_process';
import { open, readFile, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorLog } from '../../../log/index.ts';
import { isAlive } from '../../../system/index.ts';
import { EMBEDDED_ROLE } from '../directives/index.ts';
import { openCluster } from './cluster.ts';
import { makeEntrance, socketPath } from './entrance.ts';
import { ownServer, waysOut } from '../postgres-programs.ts';
import {
  type Account,
  chooseAccount,
  findBinaries,
  idsOf,
  NoProgramsError,
  serverEnvironment,
} from './programs.ts';

export { runEmbeddedInit } from './cluster.ts';
export { ensurePrograms } from './fetch.ts';

/** The content of `postmaster.pid` in the data directory (PostgreSQL, src/include/utils/pidfile.h). */
export interface LockFile {
  readonly pid: number;
  readonly port: number;
  readonly socketDir: string;
  readonly status: string;
}

/** Reads the lock file of a data directory; `undefined` if it is missing or incomplete. */
export async function readLockFile(dataDir: string): Promise<LockFile | undefined> {
  const text = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid, , , port, socketDir, , , status] = text.split('\n');
  if (socketDir === undefined || status === undefined) return undefined;
  return { pid: Number(pid), port: Number(port), socketDir, status: status.trim() };
}

/** Returns whether the server accepts connections: after a crash the file still says "ready". */
export function isServing({ status, socketDir, port }: LockFile): Promise<boolean> {
  if (status !== 'ready') return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect(socketPath(socketDir, port));
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** A server that ends when this process ends. */
export interface GuardedServer {
  ended(): boolean;
  /** Stops the server; resolves when it has ended. */
  readonly stop: () => Promise<void>;
}

/**
 * The guard process of the server. Its standard input is a pipe from gw. When the pipe closes, by `stop` or the death
 * of gw, it sends SIGINT to the server, PostgreSQL's fast shutdown. `wait` notices if the server ends by itself.
 */
const GUARD = `
  exec 3<&0 </dev/null
  "$@" 3<&- & server=$!
  { read -r _ <&3; kill -INT "$server"; } & guard=$!
  wait "$server"; code=$?
  kill "$guard" 2>/dev/null
  exit "$code"`;

/** Starts a server as `account`; its output is written to a new file at `logPath`. */
export async function spawnGuarded(
  command: readonly string[],
  logPath: string,
  account: Account,
): Promise<GuardedServer> {
  // The directory belongs to the account: opening an existing link as root would overwrite its target.
  await rm(logPath, { force: true });
  const logFile = await open(logPath, 'wx', 0o600);
  const child = spawn('/bin/sh', ['-c', GUARD, 'gw-postgres-guard', ...command], {
    ...idsOf(account),
    cwd: '/',
    env: serverEnvironment(),
    // A new session keeps Ctrl-C in the terminal from the server: gw stops it after its last request.
    detached: true,
    stdio: ['pipe', logFile.fd, logFile.fd],
  });
  // Neither of them keeps gw running; the pipe closes with gw.
  child.unref();
  (child.stdin as Socket).unref();
  let ended = false;
  const exited = new Promise<void>((resolve) => {
    const finish = () => {
      ended = true;
      resolve();
    };
    child.once('exit', finish).once('error', finish);
  });
  await logFile.close();
  const stop = async () => {
    child.ref();
    child.stdin?.destroy();
    await exited;
  };
  return { ended: () => ended, stop };
}

export interface EmbeddedOptions {
  /** Absolute path; created with mode 700 if it does not exist. */
  readonly dataDir: string;
  readonly log: ErrorLog;
  /** The account of the process that connects to the server, if it changes. */
  readonly servedBy?: Account | undefined;
  /** Additional PostgreSQL settings, for example `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Directory of `initdb` and `postgres`; if absent, that of the npm package or of the system. */
  readonly binDir?: string | undefined;
}

export interface EmbeddedPostgres {
  /** URI of the database `postgres`, as the superuser `postgres`, through the Unix socket. */
  readonly dsn: string;
  readonly socketDir: string;
  /** Stops the server. A server that another process has started continues to run. */
  stop(): Promise<void>;
}

/** Includes crash recovery after a SIGKILL; pg_ctl waits equally long. */
const START_TIMEOUT_MS = 60_000;
/** pg_ctl polls the same file; PostgreSQL offers no event. */
const POLL_MS = 10;

/**
 * Starts PostgreSQL on a data directory, or uses the server that already runs on it. The server listens on a Unix
 * socket only and ends with this process. Throws an error that suggests an alternative.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  try {
    return await start(options);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const isMissing = error instanceof NoProgramsError;
    const instead = isMissing ? waysOut() : ownServer();
    throw new Error(`embedded PostgreSQL cannot start in "${options.dataDir}": ${reason}; ${instead}`, {
      cause: error,
    });
  }
}

async function start({
  dataDir,
  log,
  servedBy,
  settings = {},
  binDir: given,
}: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const account = await chooseAccount(dataDir, servedBy);
  const running = await joinRunning(dataDir);
  if (running) return { ...address(running), stop: () => Promise.resolve() };

  const binDir = given ?? (await findBinaries(account));
  const home = await openCluster({ dataDir, account, binDir, log });
  const port = settings['port'] ?? '5432';
  const entrance = await makeEntrance({ home, port: Number(port), account, servedBy });
  const own = { listen_addresses: '', shared_buffers: '32MB', port, ...entrance.settings };
  const args = Object.entries({ ...own, ...settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  try {
    const server = await launch([join(binDir, 'postgres'), '-D', home, ...args], home, account);
    await entrance.open();
    return { ...address(server.lockFile), stop: () => server.stop().then(entrance.close) };
  } catch (error) {
    await entrance.close();
    throw error;
  }
}

function address({ socketDir, port }: LockFile): { dsn: string; socketDir: string } {
  const dsn = `postgresql:///postgres?host=${encodeURIComponent(socketDir)}&port=${port}&user=${EMBEDDED_ROLE}`;
  return { dsn, socketDir };
}

/** Finds the server of another gw on this directory; waits for one that is starting or stopping. */
async function joinRunning(dataDir: string): Promise<LockFile | undefined> {
  const deadlineMs = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const lockFile = await readLockFile(dataDir);
    if (!lockFile || !isAlive(lockFile.pid)) return undefined;
    if (await isServing(lockFile)) return lockFile;
    // Another process may have the same id after a crash: PostgreSQL itself decides whether the file is stale.
    if (lockFile.status === 'ready' || Date.now() > deadlineMs) return undefined;
    await sleep(POLL_MS);
  }
}

interface Launched {
  readonly lockFile: LockFile;
  stop(): Promise<void>;
}

async function launch(command: readonly string[], home: string, account: Account): Promise<Launched> {
  const logPath = join(home, 'server.log');
  const server = await spawnGuarded(command, logPath, account);
  const deadlineMs = Date.now() + START_TIMEOUT_MS;
  while (!server.ended() && Date.now() < deadlineMs) {
    const lockFile = await readLockFile(home);
    if (lockFile && (await isServing(lockFile))) return { lockFile, stop: server.stop };
    await sleep(POLL_MS);
  }
  const what = server.ended() ? 'the server ended' : 'the server is not ready after 60 s';
  await server.stop();
  const lines = (await readFile(logPath, 'utf8')).trim().split('\n');
  const reason = lines.findLast((line) => /FATAL: /.test(line))?.replace(/^.*FATAL: +/, '') ?? lines.at(-1);
  throw new Error(`${what}: ${reason} (see "${logPath}")`);
}
