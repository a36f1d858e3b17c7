import { randomWord } from '../../http/index.ts';

/** An id of eight random bytes: that of a span, or half of that of a trace. */
export class RandomId {
  static readonly bytes = 8;
  readonly #high: number;
  readonly #low: number;

  constructor() {
    let high = 0;
    let low = 0;
    // An id of zeros means that there is none.
    while (high === 0 && low === 0) {
      high = randomWord();
      low = randomWord();
    }
    this.#high = high;
    this.#low = low;
  }

  /** The id in lower-case hexadecimal digits. */
  get digits(): string {
    return digitsOf(this.#high) + digitsOf(this.#low);
  }

  write(to: Uint8Array, at: number): void {
    writeWord(this.#high, to, at);
    writeWord(this.#low, to, at + 4);
  }
}

const WORD_DIGITS = 8;

function digitsOf(word: number): string {
  return (word >>> 0).toString(16).padStart(WORD_DIGITS, '0');
}

/** Writes 32 bits, the highest ones first. */
function writeWord(word: number, to: Uint8Array, at: number): void {
  to[at] = word >>> 24;
  to[at + 1] = word >>> 16;
  to[at + 2] = word >>> 8;
  to[at + 3] = word;
}

const NINE = '9'.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);
const TEN_BEFORE_A = 'a'.charCodeAt(0) - 10;

/** Writes lower-case hexadecimal digits as bytes. */
export function writeDigits(digits: string, to: Uint8Array, at: number): void {
  for (let index = 0; index < digits.length; index += 2)
    to[at + index / 2] = (valueOf(digits.charCodeAt(index)) << 4) | valueOf(digits.charCodeAt(index + 1));
}

function valueOf(digit: number): number {
  return digit <= NINE ? digit - ZERO : digit - TEN_BEFORE_A;
}
