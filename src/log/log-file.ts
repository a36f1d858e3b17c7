import { constants, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
const MODE = 0o644;
const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/**
 * Opens a log for appending. Root follows no link that somebody else could have put in its place: a gateway that is started
 * by root and serves as another account would let that account choose a file of root's.
 */
export function openLogFile(path: string): number {
  const isTrap = process.getuid?.() === 0 && !onlyRootWrites(dirname(path));
  return openSync(path, O_WRONLY | O_APPEND | O_CREAT | (isTrap ? O_NOFOLLOW : 0), MODE);
}

/** Nobody but root makes, renames or removes a name in there, or puts another directory in its place. */
export function onlyRootWrites(directory: string): boolean {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found?.uid !== 0 || (found.mode & OTHERS_WRITE) !== 0) return false;
  return directory === '/' || isKept(dirname(directory));
}

/** In a sticky directory (/tmp) everybody makes names, but nobody moves those of root. */
function isKept(directory: string): boolean {
  const { uid, mode } = statSync(directory);
  if (uid !== 0 || ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0)) return false;
  return directory === '/' || isKept(dirname(directory));
}
