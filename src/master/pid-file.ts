import { closeSync, constants, openSync, readFileSync, rmSync, writeSync } from 'node:fs';

const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants;

/**
 * Writes the id of the process that takes signals; fails when the file cannot be written. The file is made anew: root may
 * write it into a directory of somebody who would have it overwrite another file by a link of this name.
 */
export function writePidFile(path: string, pid: number): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Not ours to remove; perhaps to write.
  }
  const descriptor = openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o644);
  try {
    writeSync(descriptor, `${pid}\n`);
  } finally {
    closeSync(descriptor);
  }
}

/** The id in the file; fails with nginx's words when it is not there or holds something else. */
export function readPidFile(path: string): number {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
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

/** Removes the file unless another process has written it since. */
export function removePidFile(path: string, pid: number): void {
  try {
    if (readPidFile(path) === pid) rmSync(path);
  } catch {
    // Gone already.
  }
}
