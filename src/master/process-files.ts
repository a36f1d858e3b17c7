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
import { openAsRoot, systemFailure } from '../system/index.ts';

const { O_CREAT, O_EXCL, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants;

/**
 * Writes the id of the process that takes signals; fails when the file cannot be written. The file is made anew: root may
 * write it into a directory of somebody who would have it overwrite another file by a link of this name.
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
    rmSync(path, { force: true });
  } catch {
    // Not ours to remove; perhaps to write.
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

/** The id in the file; fails with nginx's words when it is not there or holds something else. */
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

/** Reads nothing from a pipe: whoever made it could keep us waiting. */
function readWhole(path: string): string {
  const descriptor = openSync(path, O_RDONLY | O_NONBLOCK);
  try {
    return fstatSync(descriptor).isFile() ? readFileSync(descriptor, 'utf8') : '';
  } finally {
    closeSync(descriptor);
  }
}

/** Removes the file unless another process has written it since. */
export function removePidFile(path: string, pid: number): void {
  try {
    if (readPidFile(path) === pid) rmSync(path);
  } catch {
    // Gone already.
  }
}

/** Removes the files of Unix sockets that this process has listened on, as nginx does when it ends. */
export function removeSocketFiles({ ports }: GatewayPlan): void {
  for (const { address } of ports) removeSocketFile(address);
}

/** A Unix socket is replaced, not shared; its file may be left over from a process that was killed. */
export function removeSocketFile(address: ListenAddress): void {
  if (address.kind !== 'unix') return;
  if (lstatSync(address.path, { throwIfNoEntry: false })?.isSocket()) rmSync(address.path);
}

/** Whether something else than a socket is there: uWebSockets.js would remove even that. */
export function isOtherFile(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false;
  } catch {
    // The bind tells why nobody gets there.
    return false;
  }
}

/**
 * Names this process for `ps` (`gw: master process`), and for programs that find it by the name of its command: service
 * scripts and log rotation send signals to a process that is called `gw`, not `node`.
 */
export function nameProcess(role: string, command = 'gw'): void {
  process.title = `${command}: ${role} process`;
  try {
    writeFileSync('/proc/self/comm', command);
  } catch {
    // No Linux, or not allowed: the title is what it is.
  }
}

/** How the program was called: a link to it may have another name. */
export function commandName(path: string): string {
  return basename(path, '.js');
}
