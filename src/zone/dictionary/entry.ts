import { MAX_KEY_BYTES } from './kind.ts';

const OFFSET = 0x811c_9dc5;
const PRIME = 0x0100_0193;

/** FNV-1a (32 bits, unsigned) of the first `length` bytes. A secret `seed` keeps others from choosing what collides. */
export function fnv1a(bytes: Uint8Array, length: number = bytes.length, seed: number = OFFSET): number {
  let hash = seed;
  for (let i = 0; i < length; i++) hash = Math.imul(hash ^ (bytes[i] as number), PRIME);
  return hash >>> 0;
}

/** Why a dictionary refuses a call; nothing has changed then. */
export type DictionaryRefusal = 'busy' | 'no memory' | 'not a number' | 'bad key';

/** `busy`: the lock was not to be had in 250 ms, the next try may succeed. The others tell what is wrong with the call. */
export class DictionaryFault extends Error {
  readonly refusal: DictionaryRefusal;

  constructor(refusal: DictionaryRefusal, message: string) {
    super(message);
    this.refusal = refusal;
  }
}

/** What a dictionary stores. */
export type DictionaryValue = string | number | boolean;

/** How one thread uses a dictionary; the configuration may change it while the content stays. */
export interface DictionaryOptions {
  /** Lifetime of entries that are written without one, in milliseconds; 0 (the default): for ever. */
  readonly timeoutMs?: number;
  /** A write into a full dictionary drops the least recently used entries instead of failing. */
  readonly evict?: boolean;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** An entry as it stands in a dictionary. */
export interface DictionaryEntry {
  readonly key: string;
  readonly value: DictionaryValue;
  /** Milliseconds that it still lives; 0: it does not expire. */
  readonly ttlMs: number;
}

/** How full a dictionary is. Entries that have expired but were not looked for since still count. */
export interface DictionaryFacts {
  readonly entries: number;
  readonly freeBytes: number;
  readonly capacityBytes: number;
  /** Entries that made room for others since the dictionary was made. */
  readonly evicted: number;
}

/** What `incr` does for a key without value. */
export interface Increment {
  readonly init?: number | undefined;
  /** Milliseconds; 0: for ever; absent: the dictionary's own timeout. */
  readonly ttlMs?: number | undefined;
}

/** A part of the entries, and where the next part begins; `undefined`: this was the last one. */
export interface DictionaryPart {
  readonly entries: readonly DictionaryEntry[];
  readonly next: number | undefined;
}

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
