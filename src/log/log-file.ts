import { constants, openSync, readlinkSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { openAsRoot } from '../system/index.ts';

const DESCRIPTORS: Readonly<Record<string, 1 | 2>> = {
  '/dev/stdout': 1,
  '/dev/fd/1': 1,
  '/proc/self/fd/1': 1,
  stderr: 2,
  '/dev/stderr': 2,
  '/dev/fd/2': 2,
  '/proc/self/fd/2': 2,
};
/** Limit of links, as in Linux. */
const MAX_LINKS = 40;

/**
 * Returns the descriptor of standard output or error if a path means one of them, even through links (containers have
 * `access.log -> /dev/stdout`). A process that gave up root cannot open a file that root's shell opened, but may write
 * to its descriptor.
 */
export function standardStream(path: string): 1 | 2 | undefined {
  let name = path;
  for (let links = 0; links < MAX_LINKS; links += 1) {
    const descriptor = DESCRIPTORS[name];
    if (descriptor !== undefined) return descriptor;
    try {
      name = resolve(dirname(name), readlinkSync(name));
    } catch {
      return undefined;
    }
  }
  return undefined;
}

const { O_APPEND, O_CREAT, O_WRONLY } = constants;
const MODE = 0o644;

/**
 * Opens a log for appending. Root follows no links that another user could have created: otherwise the account that
 * serves could choose a file for root to open.
 */
export function openLogFile(path: string): number {
  const open = process.getuid?.() === 0 ? openAsRoot : openSync;
  return open(path, O_WRONLY | O_APPEND | O_CREAT, MODE);
}
