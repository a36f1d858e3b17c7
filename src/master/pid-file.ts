import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { openAsRoot } from '../log/index.ts';

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
  const open = process.getuid?.() === 0 ? openAsRoot : openSync;
  try {
    rmSync(path, { force: true });
  } catch {
    // Not ours to remove; perhaps to write.
    return open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644);
  }
  return open(path, O_WRONLY | O_CREAT | O_EXCL, 0o644);
}

/** The id in the file; fails with nginx's words when it is not there or holds something else. */
export function readPidFile(path: string): number {
  let text: string;
  try {
    text = readWhole(path).trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(
      `open() "${path}" failed (${code === 'ENOENT' ? '2: No such file or directory' : code})`,
      { cause: error },
    );
  }
  const pid = Number(text);
  if (!/^\d+$/.test(text) || pid < 2) throw new Error(`invalid PID number "${text}" in "${path}"`);
  return pid;
}

/** Of a pipe, nothing: whoever made it could keep us waiting. */
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
