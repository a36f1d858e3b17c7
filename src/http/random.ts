import { randomFillSync } from 'node:crypto';

/** Less costs more for each id; more than V8 keeps in its young generation, too. */
const POOL_BYTES = 16_384;
const pool = Buffer.allocUnsafe(POOL_BYTES);
let digits = '';
let at = 0;

/**
 * Returns random hexadecimal digits in lower case, 1,024 at most. Randomness is taken for many ids at once: a call for
 * each takes as long as a small request.
 */
export function randomDigits(count: number): string {
  if (at + count > digits.length) {
    digits = randomFillSync(pool).toString('hex');
    at = 0;
  }
  const from = at;
  at += count;
  return digits.slice(from, at);
}

const POOL_WORDS = POOL_BYTES / Int32Array.BYTES_PER_ELEMENT;
const words = new Int32Array(POOL_WORDS);
let left = 0;

/** Returns 32 random bits. */
export function randomWord(): number {
  if (left === 0) {
    randomFillSync(words);
    left = POOL_WORDS;
  }
  return words[--left] as number;
}
