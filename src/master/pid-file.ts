import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { openAsRoot, systemFailure } from '../log/index.ts';

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
