import { MAX_KEY_BYTES } from './layout.ts';

const OFFSET = 0x811c_9dc5;
const PRIME = 0x0100_0193;

/**
 * Returns the FNV-1a hash (32 bits, unsigned) of the first `length` bytes. With a secret `seed`, clients cannot
 * construct collisions.
 */
export function fnv1a(bytes: Uint8Array, length: number = bytes.length, seed: number = OFFSET): number {
  let hash = seed;
  for (let i = 0; i < length; i++) hash = Math.imul(hash ^ (bytes[i] as number), PRIME);
  return hash >>> 0;
}

/** The reason why a dictionary refuses a call; nothing has been changed. */
type DictionaryRefusal = 'busy' | 'no memory' | 'not a number' | 'bad key' | 'too large';

/**
 * The error of a refused call. `busy`: the lock could not be acquired within 250 ms; another try may succeed. The other
 * reasons are faults of the call. `too large`: only in a dictionary that gateways share.
 */
export class DictionaryFault extends Error {
  readonly refusal: DictionaryRefusal;

  constructor(refusal: DictionaryRefusal, message: string) {
    super(message);
    this.refusal = refusal;
  }
}

/** A value in a dictionary. */
export type DictionaryValue = string | number | boolean;

/** How one thread uses a dictionary. A reload may change it while the content stays. */
export interface DictionaryOptions {
  /** Default lifetime of entries in milliseconds; 0 (the default): they never expire. */
  readonly timeoutMs?: number;
  /** A write into a full dictionary drops the least recently used entries instead of failing. */
  readonly evict?: boolean;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** An entry of a dictionary. */
export interface DictionaryEntry {
  readonly key: string;
  readonly value: DictionaryValue;
  /** Remaining lifetime in milliseconds; 0: it never expires. */
  readonly ttlMs: number;
}

/** The fill level of a dictionary. Expired entries that have not been removed yet still count. */
export interface DictionaryFacts {
  readonly entries: number;
  readonly freeBytes: number;
  readonly capacityBytes: number;
  /** Number of entries evicted since the dictionary was created. */
  readonly evicted: number;
}

/** How `incr` handles a key without a value. */
export interface Increment {
  readonly init?: number | undefined;
  /** In milliseconds; 0: it never expires; absent: the dictionary's timeout. */
  readonly ttlMs?: number | undefined;
}

/** A part of the entries, and the cursor of the next part; `undefined` after the last one. */
export interface DictionaryPart {
  readonly entries: readonly DictionaryEntry[];
  readonly next: number | undefined;
}

/** Key and text of an entry as bytes. It is private to one thread and encoded before the lock is acquired. */
export class Payload {
  bytes: Buffer;
  readonly #small = Buffer.alloc(4096);
  keyLength = 0;
  textLength = 0;
  /** FNV-1a (32 bits) of the key. */
  hash = 0;
  readonly #seed: number | undefined;

  /** `seed`: the seed of the hash, needed if clients choose the keys. All users of a table must use the same. */
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
