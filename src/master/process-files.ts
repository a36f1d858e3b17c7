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
import { basename } from 'node:path';
import type { ListenAddress } from '../contract/index.ts';
import type { GatewayPlan } from '../plan/index.ts';
import { openAsRoot, removeAsRoot, systemFailure } from '../system/index.ts';

const { O_CREAT, O_EXCL, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants;

/**
 * Writes the pid file; throws if that fails. The file is created, never reused: its directory may belong to a user who
 * has linked the name to another file.
 */
export function writePidFile(path: string, pid: number): void {
  const descriptor = openAnew(path);
  try {
    writeSync(descriptor, `${pid}\n`);
  } finally {
    closeSync(descriptor);
  }
}

function openAnew(path: string): number {
  try {
    remove(path);
  } catch {
    // The file cannot be removed, but it may be writable.
    return openToWrite(path, O_TRUNC);
  }
  return openToWrite(path, O_EXCL);
}

function openToWrite(path: string, flag: number): number {
  const open = process.getuid?.() === 0 ? openAsRoot : openSync;
  try {
    return open(path, O_WRONLY | O_CREAT | flag, 0o644);
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

/** Removes the pid file unless another process has written it since. */
export function removePidFile(path: string, pid: number): void {
  try {
    if (readPidFile(path) === pid) remove(path);
  } catch {
    // The file no longer exists.
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
