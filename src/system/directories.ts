import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a directory and its missing parents, all with one mode. Throws what the system says.
 * `recursive` of Node.js never ends where a parent exists and can have no entries, as in `/proc`.
 */
export function makeDirectorySync(path: string, mode = 0o777): void {
  if (isDirectorySync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectorySync(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another thread may have created it since.
    if (!isDirectorySync(path)) throw error;
  }
}

/** `makeDirectorySync` without blocking. */
export async function makeDirectory(path: string, mode = 0o777): Promise<void> {
  if (await isDirectory(path)) return;
  const parent = dirname(path);
  if (parent !== path) await makeDirectory(parent, mode);
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (!(await isDirectory(path))) throw error;
  }
}

function isDirectorySync(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
