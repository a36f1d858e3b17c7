import { constants, openSync } from 'node:fs';
import { openAsRoot } from './root-path.ts';

const { O_APPEND, O_CREAT, O_WRONLY } = constants;
const MODE = 0o644;

/**
 * Opens a log for appending. Root follows no link that somebody else could have put in its place: a gateway that is started
 * by root and serves as another account would let that account choose a file of root's.
 */
export function openLogFile(path: string): number {
  const open = process.getuid?.() === 0 ? openAsRoot : openSync;
  return open(path, O_WRONLY | O_APPEND | O_CREAT, MODE);
}
