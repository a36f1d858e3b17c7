import { readFileSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';

interface ReadBytes {
  readonly bytes: Buffer;
  /** The file's index and the second in which it was changed, where later loads may ask for them. */
  readonly state: string | undefined;
}

/** What one load has read, and what the last one had, if this one may take that. */
interface FilesOfLoad {
  readonly read: Map<string, ReadBytes>;
  readonly inherited: ReadonlyMap<string, ReadBytes> | undefined;
}

const LOADS = new WeakMap<object, FilesOfLoad>();
/** What the last load read, if the next one may take it. */
let left: ReadonlyMap<string, ReadBytes> | undefined;

/** Returns the content of a file; throws the system's error. */
export type ReadFile = (path: string) => Buffer;

/**
 * Begins a load of a configuration, for which `load` stands. If it inherits (`ssl_object_cache_inheritable`), files
 * that the last such load of this process has read are not read again, unless they have another index or time of
 * change.
 */
export function beginReading(load: object, { inherits }: { readonly inherits: boolean }): void {
  const files = { read: new Map<string, ReadBytes>(), inherited: inherits ? (left ?? new Map()) : undefined };
  LOADS.set(load, files);
  left = inherits ? files.read : undefined;
}

/**
 * Returns what reads files for one load: each once, however often it is named. It may be a pipe, which can be read only
 * once (nginx: ngx_ssl_cache_fetch).
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
 * Replaces a file as a whole, so that neither a reader nor a crash finds a part of it. `beside`: a path in the same
 * directory, for this writer alone, which is written first.
 */
export async function replaceDurably(path: string, beside: string, text: string): Promise<void> {
  try {
    // The directory may be open to others, whose link must not be followed.
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
