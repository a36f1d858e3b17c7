import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

/** `postmaster.pid`: what a server says about itself in its data directory (PostgreSQL, src/include/utils/pidfile.h). */
export interface LockFile {
  readonly pid: number;
  readonly port: number;
  readonly socketDir: string;
  readonly status: string;
}

/** The lock file of a data directory; `undefined` when there is none or it is not complete yet. */
export async function readLockFile(dataDir: string): Promise<LockFile | undefined> {
  const text = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid, , , port, socketDir, , , status] = text.split('\n');
  if (socketDir === undefined || status === undefined) return undefined;
  return { pid: Number(pid), port: Number(port), socketDir, status: status.trim() };
}

/** True while the process that wrote the file, or one that took over its number, lives. */
export function isAlive({ pid }: LockFile): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** True when a server listens: a file that a crash left behind says "ready" for ever. */
export function isServing({ status, socketDir, port }: LockFile): Promise<boolean> {
  if (status !== 'ready') return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect(socketPath(socketDir, port));
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** PostgreSQL derives the socket's name from the port, also where it listens on no port. */
export function socketPath(socketDir: string, port: number): string {
  return join(socketDir, `.s.PGSQL.${port}`);
}
