import { randomBytes } from 'node:crypto';

/** Versions of keys; a version stands for all keys with the same hash. */
const SLOTS = 65_536;

/** What the workers share about the versions of keys. Cloneable. */
export interface SharedVersions {
  /** Differs in each run, so that responses of an earlier one are not taken for those of this one. */
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
 * The versions of the keys of one store. A stored reply names the versions of its keys, so that a write, which changes them, makes it
 * unfindable for all workers at once; it leaves the cache as what nobody asks for.
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

  /** The present versions of some keys. */
  of(keys: readonly (string | Buffer)[]): readonly [epoch: string, ...versions: number[]] {
    return [this.epoch, ...keys.map((key) => Atomics.load(this.#cells, this.#slotOf(key)))];
  }

  /** A key has, or may have, another value. */
  change(key: string | Buffer): void {
    Atomics.add(this.#cells, this.#slotOf(key), 1);
  }

  /** Any key may have another value. */
  changeAll(): void {
    for (let slot = 0; slot < SLOTS; slot++) Atomics.add(this.#cells, slot, 1);
  }

  #slotOf(key: string | Buffer): number {
    return hashOf(typeof key === 'string' ? Buffer.from(key) : key, this.#seed) % SLOTS;
  }
}

/** FNV-1a. */
function hashOf(bytes: Buffer, seed: number): number {
  let hash = seed;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
