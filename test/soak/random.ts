import { createHash } from 'node:crypto';

/** Decisions that follow from a name alone: the same name gives the same ones on every machine (xoshiro128**). */
export class Random {
  readonly #state: Uint32Array;

  constructor(name: string) {
    const digest = createHash('sha256').update(name).digest();
    this.#state = Uint32Array.from([0, 4, 8, 12], (at) => digest.readUInt32LE(at));
  }

  /** A whole number from 0 up to `end`, which is excluded. */
  below(end: number): number {
    return Math.floor((this.#next() / 2 ** 32) * end);
  }

  /** A whole number, both ends included. */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1);
  }

  /** True with this probability. */
  chance(share: number): boolean {
    return this.#next() / 2 ** 32 < share;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error('there is nothing to pick from');
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  /** A word of letters and digits. */
  word(length: number): string {
    const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
    return Array.from({ length }, () => letters[this.below(letters.length)]).join('');
  }

  #next(): number {
    const [a, b, c, d] = this.#state as unknown as [number, number, number, number];
    const result = Math.imul(rotated(Math.imul(b, 5), 7), 9) >>> 0;
    this.#state.set([a ^ d ^ b, b ^ c ^ a, c ^ a ^ (b << 9), rotated(d ^ b, 11)]);
    return result;
  }
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
