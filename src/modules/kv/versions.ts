import { randomBytes } from 'node:crypto';

/** Versions of keys; a version stands for all keys with the same hash. */
const SLOTS = 65_536;

/** The versions of keys, which the workers share. Cloneable. */
export interface SharedVersions {
  /** Differs in each run, so that stored responses of an earlier run are not found. */
  readonly epoch: string;
  readonly cells: SharedArrayBuffer;
}

/** Creates the versions, once per process. */
export function openVersions(): SharedVersions {
  return {
    epoch: randomBytes(9).toString('base64url'),
    cells: new SharedArrayBuffer(SLOTS * Int32Array.BYTES_PER_ELEMENT),
  };
}

/**
 * The versions of the keys of one store. The cache key of a reply contains the versions of its keys. A write changes
 * them, so that no worker finds the reply any more; the cache removes it later as unused.
 */
export class Versions {
  readonly #cells: Int32Array;
  /** Differs in each run. */
  readonly epoch: string;
  readonly #seed: number;

  constructor({ epoch, cells }: SharedVersions, store: string) {
    this.#cells = new Int32Array(cells);
    this.epoch = epoch;
    this.#seed = hashOf(Buffer.from(store), 0x811c9dc5);
  }

  /** Returns the current versions of some keys. */
  of(keys: readonly (string | Buffer)[]): readonly [epoch: string, ...versions: number[]] {
    return [this.epoch, ...keys.map((key) => Atomics.load(this.#cells, this.#slotOf(key)))];
  }

  /** Changes the version of a key whose value has changed, or may have. */
  change(key: string | Buffer): void {
    Atomics.add(this.#cells, this.#slotOf(key), 1);
  }

  /** Changes all versions: any value may have changed. */
  changeAll(): void {
    for (let slot = 0; slot < SLOTS; slot++) Atomics.add(this.#cells, slot, 1);
  }

  #slotOf(key: string | Buffer): number {
    return hashOf(typeof key === 'string' ? Buffer.from(key) : key, this.#seed) % SLOTS;
  }
}

/** Returns the FNV-1a hash with a seed. */
function hashOf(bytes: Buffer, seed: number): number {
  let hash = seed;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
