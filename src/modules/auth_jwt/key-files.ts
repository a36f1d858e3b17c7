import { readFileSync, type Stats, statSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { systemFailure } from '../../system/index.ts';
import { readKeySet } from '../../tokens/index.ts';
import type { KeysOrFault } from './key-origin.ts';

interface KnownFile {
  readonly keys: KeysOrFault;
  /** Changes whenever the file does. */
  readonly version: string;
  lookedAtMs: number;
}

/** File names may contain variables. */
const MOST_FILES = 100;
/** A file is looked at no more often. */
const SHORTEST_CACHE_MS = 1_000;
/** More than any set of keys needs. */
const MOST_BYTES = 1_048_576;

/** Reads the keys of a file. */
export function readKeys(path: string): KeysOrFault {
  try {
    if (statSync(path).size > MOST_BYTES) return { fault: `the key file "${path}" is larger than 1 MiB` };
    const keys = readKeySet(readFileSync(path, 'utf8'));
    return 'fault' in keys ? { fault: `the keys in "${path}" cannot be used: ${keys.fault}` } : keys;
  } catch (error) {
    return { fault: systemFailure('open', path, error) };
  }
}

/**
 * The key files of one worker. A file that has changed is read again. While its new content cannot be used, because it
 * is being written or has a fault, its last keys stay.
 */
export class KeyFiles {
  readonly #known = new LRUCache<string, KnownFile>({ max: MOST_FILES });
  readonly #tell: (fault: string) => void;

  /** `tell` is called once for each change that cannot be used. */
  constructor(tell: (fault: string) => void) {
    this.#tell = tell;
  }

  /** Has every file looked at before its next use. */
  expire(): void {
    for (const known of this.#known.values()) known.lookedAtMs = 0;
  }

  /** Returns the keys of a file that was looked at in the last `cacheMs`. */
  keysOf(path: string, cacheMs: number, nowMs: number): KeysOrFault {
    const known = this.#known.get(path);
    const isFresh = known && nowMs < known.lookedAtMs + Math.max(cacheMs, SHORTEST_CACHE_MS);
    return isFresh ? known.keys : this.#look(path, known, nowMs);
  }

  #look(path: string, before: KnownFile | undefined, nowMs: number): KeysOrFault {
    const version = versionOf(path);
    if (before && before.version === version) {
      before.lookedAtMs = nowMs;
      return before.keys;
    }
    let keys = readKeys(path);
    if ('fault' in keys) {
      this.#tell(keys.fault);
      if (before && !('fault' in before.keys)) keys = before.keys;
    }
    this.#known.set(path, { keys, version, lookedAtMs: nowMs });
    return keys;
  }
}

function versionOf(path: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs }: Stats = statSync(path);
    return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
