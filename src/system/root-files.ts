import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  type Stats,
} from 'node:fs';
import { isAbsolute, join, resolve, sep } from 'node:path';
import { systemFailure } from './failure.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;
/** Linux: refers to a file without opening it; a socket cannot be opened. */
const O_PATH = 0o10000000;
/** Linux has the same limit. */
const MOST_LINKS = 40;

interface Walk {
  /** The safe part of the path, without links: only root can create, rename or remove its names. */
  readonly safe: string;
  /** The rest, from the first name that another user could have created. */
  readonly names: readonly string[];
}

/**
 * Resolves a path with its links; it need not exist. Returns `undefined` if another user than root can change where it
 * leads, for example before root opens it.
 */
export function rootPath(path: string): string | undefined {
  const { safe, names } = walk(path);
  return names.length === 0 ? safe : undefined;
}

/**
 * Opens a file as root, even in a directory that other users can write: it follows none of their links, symbolic or
 * hard, and does not block on their pipes.
 */
export function openAsRoot(path: string, flags: number, mode: number): number {
  const { safe, names } = walk(path);
  const last = names.at(-1);
  if (last === undefined) return openSync(safe, flags, mode);
  let directory = openSync(safe, O_RDONLY | O_DIRECTORY);
  try {
    for (const name of names.slice(0, -1)) {
      const next = openSync(inside(directory, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      closeSync(directory);
      directory = next;
    }
    const descriptor = openSync(inside(directory, last), flags | O_NOFOLLOW | O_NONBLOCK, mode);
    return withoutTrap(descriptor, (flags & O_PATH) !== 0);
  } catch (error) {
    // The error has a path in /proc; the message has the path that was given.
    const { errno, code } = error as NodeJS.ErrnoException;
    const known = new Error(systemFailure('open', path, error), { cause: error });
    throw errno === undefined ? known : Object.assign(known, { errno, code });
  } finally {
    closeSync(directory);
  }
}

/** Sets the mode of a socket's file. If root finds another file in its place, that is not changed. */
export function chmodSocket(path: string, mode: number): void {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return chmodSync(path, mode);
  const descriptor = openAsRoot(path, O_PATH | O_NOFOLLOW, 0);
  try {
    if (fstatSync(descriptor).isSocket()) chmodSync(`/proc/self/fd/${descriptor}`, mode);
  } finally {
    closeSync(descriptor);
  }
}

/** Returns a path relative to an open directory, since Node has no openat(2). */
function inside(directory: number, name: string): string {
  return `/proc/self/fd/${directory}/${name}`;
}

function withoutTrap(descriptor: number, isNameOnly: boolean): number {
  const found = fstatSync(descriptor);
  const isPlain = isNameOnly || found.isFile();
  if (isPlain && found.nlink <= 1) return descriptor;
  closeSync(descriptor);
  const fault = isPlain ? 'has several hard links' : 'is not a regular file';
  throw new Error(`it ${fault}, and others can write its directory`);
}

function walk(path: string): Walk {
  const names = namesOf(resolve(path));
  let safe = resolve(sep);
  for (let links = 0; names.length > 0;) {
    const [name = ''] = names;
    const next = join(safe, name);
    const found = lstatSync(next, { throwIfNoEntry: false });
    if (!isKept(lstatSync(safe, { throwIfNoEntry: false }), found)) break;
    if (found?.isSymbolicLink() !== true) safe = next;
    else if (++links > MOST_LINKS) break;
    else {
      const target = readlinkSync(next);
      names.splice(1, 0, ...namesOf(target));
      if (isAbsolute(target)) safe = resolve(sep);
    }
    names.shift();
  }
  return { safe, names };
}

/**
 * Tells whether only root can change a directory entry. A missing directory will be created by root. In a sticky
 * directory (/tmp) other users can create names, but cannot move directories of root.
 */
function isKept(directory: Stats | undefined, entry: Stats | undefined): boolean {
  if (!directory) return true;
  if (directory.uid !== 0) return false;
  if ((directory.mode & OTHERS_WRITE) === 0) return true;
  return (directory.mode & STICKY) !== 0 && entry?.uid === 0 && entry.isDirectory();
}

function namesOf(path: string): string[] {
  return path.split(sep).filter((name) => name !== '' && name !== '.');
}
