import { readFileSync, statSync } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isAlive } from './processes.ts';

interface ReadBytes {
  readonly bytes: Buffer;
  /** The file's inode and the second of its last change; `undefined` if later loads do not need them. */
  readonly state: string | undefined;
}

/** The files that one load has read, and those of the last load if this one may use them. */
interface FilesOfLoad {
  readonly read: Map<string, ReadBytes>;
  readonly inherited: ReadonlyMap<string, ReadBytes> | undefined;
}

const LOADS = new WeakMap<object, FilesOfLoad>();
/** The files that the last load read, if the next one may use them. */
let left: ReadonlyMap<string, ReadBytes> | undefined;

/** Returns the content of a file; throws the system's error. */
export type ReadFile = (path: string) => Buffer;

/**
 * Begins a load of a configuration, identified by the object `load`. If it inherits (`ssl_object_cache_inheritable`),
 * files that the last such load of this process has read are read again only if their inode or time of change differs.
 */
export function beginReading(load: object, { inherits }: { readonly inherits: boolean }): void {
  const files = { read: new Map<string, ReadBytes>(), inherited: inherits ? (left ?? new Map()) : undefined };
  LOADS.set(load, files);
  left = inherits ? files.read : undefined;
}

/**
 * Returns the function that reads files for one load. Each file is read once, since it may be a pipe (nginx:
 * ngx_ssl_cache_fetch).
 */
export function readerOf(load: object): ReadFile {
  const files = LOADS.get(load) ?? { read: new Map(), inherited: undefined };
  LOADS.set(load, files);
  return (path) => {
    const known = files.read.get(path) ?? readFor(files, path);
    files.read.set(path, known);
    return known.bytes;
  };
}

function readFor({ inherited }: FilesOfLoad, path: string): ReadBytes {
  if (!inherited) return { bytes: readFileSync(path), state: undefined };
  const { ino, mtimeMs } = statSync(path);
  const state = `${ino} ${Math.floor(mtimeMs / 1000)}`;
  const before = inherited.get(path);
  return before?.state === state ? before : { bytes: readFileSync(path), state };
}

/**
 * Replaces a file as a whole, so that readers never see a part of it, even after a crash. `beside`: a path in the same
 * directory that only this writer uses, which is written first.
 */
export async function replaceDurably(path: string, beside: string, text: string): Promise<void> {
  try {
    // Others may be able to write the directory; their links must not be followed.
    await rm(beside, { force: true });
    const file = await open(beside, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Removes files beside this one, `….PID.WORKER.new`, that killed processes did not finish. */
export async function removeLeftovers(path: string): Promise<void> {
  const directory = dirname(path);
  const start = `${basename(path)}.`;
  for (const name of await readdir(directory).catch(() => [])) {
    const [, pid] = (name.startsWith(start) && /^(\d+)\.\d+\.new$/.exec(name.slice(start.length))) || [];
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(join(directory, name), { force: true }).catch(() => undefined);
  }
}
