import { readFileSync, rmSync, writeFileSync } from 'node:fs';

/** Writes the id of the process that takes signals; fails when the file cannot be written. */
export function writePidFile(path: string, pid: number): void {
  writeFileSync(path, `${pid}\n`);
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
