import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  rmSync,
  type Stats,
} from 'node:fs';
import { isAbsolute, join, resolve, sep } from 'node:path';
import { systemFailure } from './failure.ts';

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } =
  constants;
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
  return atEntry(path, ({ name, directory }) => {
    if (!directory) return openSync(name, flags, mode);
    const descriptor = openSync(name, flags | O_NOFOLLOW | O_NONBLOCK, mode);
    return withoutTrap(descriptor, (flags & O_PATH) !== 0);
  });
}

/** Removes a file as root, if it exists. Links of other users in its path are not followed. */
export function removeAsRoot(path: string): void {
  atEntry(path, ({ name }) => rmSync(name, { force: true }));
}

const MODE = 0o644;
const OTHERS_READ = 0o004;
const OWNER_READS_AND_WRITES = 0o600;
/** Maximum attempts: a file may appear or disappear between opening and creating it. */
const MOST_ATTEMPTS = 5;

/**
 * Opens a file for appending as root, and creates it if it is missing. An account becomes the owner of the file, unless
 * this would give it access to the data of others. In a directory that other users can write, the file has to be a
 * regular one with a single name, and to belong to root, to the account or to the owner of the directory.
 */
export function appendAsRoot(path: string, account?: number): number {
  return atEntry(path, (entry) => {
    const { descriptor, isNew } = openOrCreate(entry.name, entry.directory ? O_NOFOLLOW : 0);
    try {
      const found = fstatSync(descriptor);
      if (entry.directory) refuseTrap(found, entry.directory, account);
      const isSafe = isNew || !entry.directory || mayBeGiven(found, entry.directory);
      if (account !== undefined && isSafe) give(descriptor, account);
      return descriptor;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  });
}

/** Makes an account the owner of an open file or directory, unless it has several names. */
export function give(descriptor: number, account: number): void {
  const found = fstatSync(descriptor);
  const isOurs = found.isDirectory() || ((found.isFile() || found.isFIFO()) && found.nlink === 1);
  if (!isOurs || found.uid === account) return;
  fchownSync(descriptor, account, found.gid);
  const mode = found.mode | OWNER_READS_AND_WRITES;
  if (mode !== found.mode) fchmodSync(descriptor, mode);
}

/**
 * Opens a file for appending without waiting for the reader of a pipe, which keeps the bytes until it is read. Throws
 * ENXIO for a socket.
 */
export function openToAppend(path: string, flags: number): number {
  try {
    return openSync(path, O_WRONLY | O_APPEND | O_NONBLOCK | flags, MODE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
    return openSync(path, O_RDWR | O_APPEND | O_NONBLOCK | (flags & O_NOFOLLOW));
  }
}

/** Tries without O_CREAT as well: with it, root may not open files of others in /tmp (fs.protected_regular). */
function openOrCreate(
  name: string,
  follow: number,
): { readonly descriptor: number; readonly isNew: boolean } {
  for (let attempt = 1; ; attempt++) {
    for (const [flags, passing] of [
      [0, 'ENOENT'],
      [O_CREAT | O_EXCL, 'EEXIST'],
    ] as const) {
      try {
        return { descriptor: openToAppend(name, flags | follow), isNew: flags !== 0 };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== passing || attempt === MOST_ATTEMPTS) throw error;
      }
    }
  }
}

function refuseTrap(found: Stats, directory: Stats, account: number | undefined): void {
  const fault = trapOf(found);
  if (fault) throw new Error(`it ${fault}, and others can write its directory`);
  if (![0, account, directory.uid].includes(found.uid))
    throw new Error('it belongs to another user, and others can write its directory');
}

/** Tells whether a file may be given to the account: whoever can write the directory may have moved it there. */
function mayBeGiven({ uid, mode }: Stats, directory: Stats): boolean {
  if ((mode & OTHERS_READ) !== 0) return true;
  return uid !== 0 && uid === directory.uid && (directory.mode & OTHERS_WRITE) === 0;
}

/** A name that root can use without following a link of another user. */
interface SafeName {
  readonly name: string;
  /** The directory, if another user than root can change its entries. */
  readonly directory: Stats | undefined;
}

function atEntry<T>(path: string, act: (entry: SafeName) => T): T {
  let directory: number | undefined;
  try {
    const { safe, names } = walk(path);
    const last = names.at(-1);
    if (last === undefined) return act({ name: safe, directory: undefined });
    directory = openSync(safe, O_RDONLY | O_DIRECTORY);
    for (const name of names.slice(0, -1)) {
      const next = openSync(inside(directory, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      closeSync(directory);
      directory = next;
    }
    return act({ name: inside(directory, last), directory: fstatSync(directory) });
  } catch (error) {
    // The error may have a path in /proc; the message has the path that was given.
    const { errno, code } = error as NodeJS.ErrnoException;
    const known = new Error(systemFailure('open', path, error), { cause: error });
    throw errno === undefined ? known : Object.assign(known, { errno, code });
  } finally {
    if (directory !== undefined) closeSync(directory);
  }
}

/** Sets the mode of a socket's file. Root does not change another file that has taken its place. */
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
  const fault = trapOf(fstatSync(descriptor), isNameOnly);
  if (fault === undefined) return descriptor;
  closeSync(descriptor);
  throw new Error(`it ${fault}, and others can write its directory`);
}

function trapOf(found: Stats, isNameOnly = false): string | undefined {
  if (!isNameOnly && !found.isFile()) return 'is not a regular file';
  return found.nlink > 1 ? 'has several hard links' : undefined;
}

function walk(path: string): Walk {
  const names = namesOf(resolve(path));
  let safe = resolve(sep);
  for (let links = 0; names.length > 0;) {
    const [name = ''] = names;
    const next = join(safe, name);
    const found = lstatSync(next, { throwIfNoEntry: false });
    if (!isKept(lstatSync(safe, { throwIfNoEntry: false }), found)) break;
    if (found?.isSymbolicLink() !== true || isDescriptor(next)) safe = next;
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

/** Tells whether a path is a link to an open file, which may have no name (proc(5)): containers log to /proc/1/fd/1. */
function isDescriptor(path: string): boolean {
  return /^\/proc\/\d+\/(?:task\/\d+\/)?fd\/\d+$/.test(path);
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
