import { DictionaryFault } from './fault.ts';
import { fnv1a } from './fnv1a.ts';
import { MAX_KEY_BYTES } from './layout.ts';

/** Key and text of an entry as bytes, private to one thread: made here before the lock is taken. */
export class Payload {
  bytes: Buffer;
  readonly #small = Buffer.alloc(4096);
  keyLength = 0;
  textLength = 0;
  /** FNV-1a (32 bits) of the key. */
  hash = 0;
  readonly #seed: number | undefined;

  /** `seed` of the hash, where clients choose the keys; the same for all who use the table. */
  constructor(seed?: number) {
    this.bytes = this.#small;
    this.#seed = seed;
  }

  get length(): number {
    return this.keyLength + this.textLength;
  }

  /** Throws a `DictionaryFault` for a key that is empty or too long. */
  encode(key: string, text = ''): void {
    // A UTF-16 unit takes at most three bytes.
    const needed = (key.length + text.length) * 3;
    this.bytes = needed <= this.#small.length ? this.#small : Buffer.allocUnsafe(needed);
    this.keyLength = this.bytes.write(key, 0, 'utf8');
    if (this.keyLength === 0 || this.keyLength > MAX_KEY_BYTES) {
      throw new DictionaryFault('bad key', `a key has 1 to ${MAX_KEY_BYTES} bytes, not ${this.keyLength}`);
    }
    this.textLength = text === '' ? 0 : this.bytes.write(text, this.keyLength, 'utf8');
    this.hash = fnv1a(this.bytes, this.keyLength, this.#seed);
  }
}
