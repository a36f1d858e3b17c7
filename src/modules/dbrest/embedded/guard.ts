import { spawn } from 'node:child_process';
import { open, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { idsOf, serverEnvironment } from './account.ts';
import type { Account } from './account.ts';

/** A server that ends with this process, at the latest. */
export interface GuardedServer {
  ended(): boolean;
  /** Resolves when the server is gone. */
  readonly stop: () => Promise<void>;
}

/**
 * Its standard input is a pipe from gw: when that ends, by `stop` or because gw died in whatever way, the server gets
 * SIGINT, PostgreSQL's fast shutdown. Meanwhile `wait` sees the server end by itself.
 */
const GUARD = `
  exec 3<&0 </dev/null
  "$@" 3<&- & server=$!
  { read -r _ <&3; kill -INT "$server"; } & guard=$!
  wait "$server"; code=$?
  kill "$guard" 2>/dev/null
  exit "$code"`;

/** Starts a server as `account`; its output goes to a new file at `logPath`. */
export async function spawnGuarded(
  command: readonly string[],
  logPath: string,
  account: Account,
): Promise<GuardedServer> {
  // The directory is the account's: opened as root, a link planted under this name would overwrite its target.
  await rm(logPath, { force: true });
  const logFile = await open(logPath, 'wx', 0o600);
  const child = spawn('/bin/sh', ['-c', GUARD, 'gw-postgres-guard', ...command], {
    ...idsOf(account),
    cwd: '/',
    env: serverEnvironment(),
    // A session of its own: Ctrl-C in the terminal must reach gw alone, which still has requests to finish.
    detached: true,
    stdio: ['pipe', logFile.fd, logFile.fd],
  });
  // Neither keeps gw alive: when gw ends, the pipe ends.
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
