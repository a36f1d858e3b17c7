import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, resolve } from 'node:path';
import type { ListenAddress } from '../contract/index.ts';
import type { GatewayPlan } from '../plan/index.ts';
import type { Outcome } from './protocol.ts';
import { openAsRoot, removeAsRoot, systemFailure } from '../system/index.ts';

const { O_CREAT, O_EXCL, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants;

/** Returns the absolute path of the pid file. */
export function pidFileOf({ main }: GatewayPlan): string {
  return resolve(main.prefix, main.core.pidFile);
}

/** Writes the pid file, unless it already has this id, as after an upgrade; throws if that fails. */
export function writePidFile(path: string, pid: number): void {
  if (hasPid(path, pid)) return;
  writeAnew(path, `${pid}\n`, 0o644);
}

function hasPid(path: string, pid: number): boolean {
  try {
    return readPidFile(path) === pid;
  } catch {
    return false;
  }
}

/**
 * Writes a file; throws if that fails. It is created, never reused: its directory may belong to a user who has linked
 * the name to another file.
 */
function writeAnew(path: string, text: string, mode: number): void {
  const descriptor = openAnew(path, mode);
  try {
    writeSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

function openAnew(path: string, mode: number): number {
  try {
    remove(path);
  } catch {
    // The file cannot be removed, but it may be writable.
    return openToWrite(path, O_TRUNC, mode);
  }
  return openToWrite(path, O_EXCL, mode);
}

function openToWrite(path: string, flag: number, mode: number): number {
  const open = process.getuid?.() === 0 ? openAsRoot : openSync;
  try {
    return open(path, O_WRONLY | O_CREAT | flag, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).errno === undefined) throw error;
    throw new Error(systemFailure('open', path, error), { cause: error });
  }
}

/** Returns the process id in the pid file. Throws in nginx's words if the file does not exist or has other content. */
export function readPidFile(path: string): number {
  let text: string;
  try {
    text = readWhole(path).trim();
  } catch (error) {
    throw new Error(systemFailure('open', path, error), { cause: error });
  }
  const pid = Number(text);
  if (!/^\d+$/.test(text) || pid < 2) throw new Error(`invalid PID number "${text}" in "${path}"`);
  return pid;
}

/** Reads a file if it is a regular one: a pipe could block the process. */
function readWhole(path: string): string {
  const descriptor = openSync(path, O_RDONLY | O_NONBLOCK);
  try {
    return fstatSync(descriptor).isFile() ? readFileSync(descriptor, 'utf8') : '';
  } finally {
    closeSync(descriptor);
  }
}

/** Removes a file. As root, follows no directory link of another account: it could lead to a file of the same name. */
function remove(path: string): void {
  if (process.getuid?.() === 0) removeAsRoot(path);
  else rmSync(path, { force: true });
}

/** Removes the pid file, and the status file beside it, unless another process has written it since. */
export function removePidFile(path: string, pid: number): void {
  try {
    if (readPidFile(path) !== pid) return;
    remove(path);
    remove(statusFileOf(path));
  } catch {
    // The file no longer exists.
  }
}

/** What a running gateway tells commands that may send it signals. */
export interface RunningStatus {
  readonly pid: number;
  /** The version of the program that serves, and of its supervisor, which an upgrade does not replace. */
  readonly version: string;
  readonly supervisor?: string | undefined;
  readonly reload?: Outcome | undefined;
  readonly upgrade?: Outcome | undefined;
}

function statusFileOf(pidFile: string): string {
  return `${pidFile}.status`;
}

/** Writes the status file beside the pid file, for the account that may send signals. Does nothing if that fails. */
export function writeStatus(pidFile: string, status: RunningStatus): void {
  try {
    writeAnew(statusFileOf(pidFile), `${JSON.stringify(status)}\n`, 0o600);
  } catch {
    // The gateway serves without it; commands say that they do not know.
  }
}

/** Reads the status file; `undefined` if it is missing, incomplete or that of another process. */
export function readStatus(pidFile: string): RunningStatus | undefined {
  try {
    const status = JSON.parse(readWhole(statusFileOf(pidFile))) as RunningStatus;
    return status.pid === readPidFile(pidFile) ? status : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the files of Unix sockets that this process has listened on, as nginx does. */
export function removeSocketFiles({ ports }: GatewayPlan): void {
  for (const { address } of ports) removeSocketFile(address);
}

/** Removes the file of a Unix socket, which a killed process may have left behind. */
export function removeSocketFile(address: ListenAddress): void {
  if (address.kind !== 'unix') return;
  if (lstatSync(address.path, { throwIfNoEntry: false })?.isSocket()) remove(address.path);
}

/** Tells whether the path is something other than a socket. uWebSockets.js would remove it. */
export function isOtherFile(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false;
  } catch {
    // The bind reports why the path is not accessible.
    return false;
  }
}

/**
 * Sets the name of this process for `ps` (`gw: master process`), and its command name, so that service scripts and log
 * rotation find a process called `gw` instead of `node`.
 */
export function nameProcess(role: string, command = 'gw'): void {
  process.title = `${command}: ${role} process`;
  try {
    writeFileSync('/proc/self/comm', command);
  } catch {
    // The system is not Linux or does not allow it. The name stays.
  }
}

/** Returns the name under which the program was called, which may be a link. */
export function commandName(path: string): string {
  return basename(path, '.js');
}
