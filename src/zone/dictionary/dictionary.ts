import { MAGIC_WORD, type Memory, memoryOf, VERSION_WORD } from '../header.ts';
import { setAlive, ZoneLock } from '../lock.ts';
import {
  type DictionaryEntry,
  type DictionaryFacts,
  DictionaryFault,
  type DictionaryOptions,
  type DictionaryPart,
  type DictionaryValue,
  type Increment,
  Payload,
} from './entry.ts';
import { repairDictionary } from './kind.ts';
import { BLOCK_BYTES, DICTIONARY_MAGIC, DICTIONARY_VERSION } from './layout.ts';
import { SharedEntries } from './shared-entries.ts';
import { Table } from './table.ts';

interface PutOptions {
  readonly value: DictionaryValue;
  readonly ttlMs: number | undefined;
  /** The keys that are written: those without a value, those with a value, or any. */
  readonly where: 'absent' | 'present' | 'any';
}

interface StoreOptions {
  readonly replaced: number;
  readonly nowMs: number;
  readonly ttlMs: number | undefined;
}

const DEFAULT_LIMIT = 1024;
/** Buckets that `scan` reads per acquisition of the lock; they hold about as many entries. */
const SCANNED_BUCKETS = 256;

/**
 * Opens the dictionary of a zone for this thread. `threadId` is 0 in the master, else the worker's id, 1 to 511. Throws
 * if the memory holds no dictionary.
 */
export function openDictionary(
  buffer: SharedArrayBuffer,
  threadId: number,
  options: DictionaryOptions = {},
): Dictionary {
  return new Dictionary(memoryOf(buffer), threadId, options);
}

/**
 * Values by key that all threads share. Each call is atomic. Every method throws a `DictionaryFault`: `busy` if the
 * lock could not be acquired in 250 ms, `bad key` if the key is empty or longer than 65535 bytes.
 */
export class Dictionary {
  /** The entries as the gateways of a cluster share them. */
  readonly shared: SharedEntries;
  readonly #table: Table;
  readonly #lock: ZoneLock;
  readonly #payload = new Payload();
  readonly #timeoutMs: number;
  readonly #evict: boolean;
  readonly #now: () => number;

  constructor(
    memory: Memory,
    threadId: number,
    { timeoutMs = 0, evict = false, now = Date.now }: DictionaryOptions,
  ) {
    if (memory.u32[MAGIC_WORD] !== DICTIONARY_MAGIC || memory.u32[VERSION_WORD] !== DICTIONARY_VERSION) {
      throw new TypeError('the shared memory does not hold a dictionary of this layout');
    }
    this.#table = new Table(memory);
    setAlive(memory.i32, threadId);
    this.#lock = new ZoneLock(memory.i32, threadId, () => repairDictionary(memory));
    this.#timeoutMs = timeoutMs;
    this.#evict = evict;
    this.#now = now;
    const locked = <T>(act: () => T): T => this.#locked(act);
    this.shared = new SharedEntries({ memory, table: this.#table, evict, now, locked });
  }

  /** A number of 32 bits that differs after each change of the entries. Needs no lock. */
  get revision(): number {
    return this.#table.revision;
  }

  /** Returns the value of a key, or `undefined`. With `evict` this counts as a use. */
  get(key: string): DictionaryValue | undefined {
    return this.#withEntry(key, (entry) => this.#table.value(entry));
  }

  /** Returns the value and lifetime of a key, or `undefined`. With `evict` this counts as a use. */
  entry(key: string): DictionaryEntry | undefined {
    return this.#withEntry(key, (entry) => this.#describe(entry, this.#now()));
  }

  /** Stores a value. `ttlMs` 0: it never expires; absent: the dictionary's timeout. Throws `no memory`. */
  set(key: string, value: DictionaryValue, ttlMs?: number): void {
    this.#put(key, { value, ttlMs, where: 'any' });
  }

  /** Stores a value unless the key has one; then returns false. Throws `no memory`. */
  add(key: string, value: DictionaryValue, ttlMs?: number): boolean {
    return this.#put(key, { value, ttlMs, where: 'absent' });
  }

  /** Stores a value if the key has one; else returns false. Throws `no memory`. */
  replace(key: string, value: DictionaryValue, ttlMs?: number): boolean {
    return this.#put(key, { value, ttlMs, where: 'present' });
  }

  /**
   * Adds to a number and returns the sum; its lifetime does not change. A key without a value starts at `init` with a
   * lifetime of `ttlMs`; without `init` the result is `undefined`. Throws `not a number` and `no memory`.
   */
  incr(key: string, delta: number, { init, ttlMs }: Increment = {}): number | undefined {
    this.#payload.encode(key);
    return this.#locked(() => {
      const nowMs = this.#now();
      const entry = this.#table.find(this.#payload, nowMs);
      if (entry === 0) return init === undefined ? undefined : this.#begin(init + delta, ttlMs, nowMs);
      const value = this.#table.value(entry);
      if (typeof value !== 'number') {
        throw new DictionaryFault('not a number', `the value of "${key}" is not a number`);
      }
      // A thread that dies in between leaves a change without effect; the reverse order could lose one.
      if (this.#table.changes?.isShared === true) this.#table.changes.add(entry);
      this.#table.setNumber(entry, value + delta);
      this.#use(entry);
      return value + delta;
    });
  }

  /** Deletes a key. Returns false if it had no value. */
  delete(key: string): boolean {
    const deleted = this.#withEntry(key, (entry) => {
      this.#table.delete(entry);
      return true;
    });
    return deleted === true;
  }

  /**
   * Returns keys, the most recently written (with `evict`: used) first. Other threads are blocked meanwhile, so `limit`
   * bounds their number.
   */
  keys(limit: number = DEFAULT_LIMIT): string[] {
    return this.#locked(() => this.#living(limit).map((entry) => this.#table.key(entry)));
  }

  /** Works as `keys`, but returns values and lifetimes, too. */
  list(limit: number = DEFAULT_LIMIT): DictionaryEntry[] {
    return this.#locked(() => {
      const nowMs = this.#now();
      return this.#living(limit).map((entry) => this.#describe(entry, nowMs));
    });
  }

  /**
   * Returns all entries in parts, unordered, so that other threads are blocked only briefly. Entries that exist during
   * the whole scan are found once; others may be missed.
   */
  scan(cursor: number = 0): DictionaryPart {
    const end = Math.min(cursor + SCANNED_BUCKETS, this.#table.geometry.buckets);
    return this.#locked(() => {
      const nowMs = this.#now();
      const entries: DictionaryEntry[] = [];
      for (let bucket = cursor; bucket < end; bucket++) {
        for (let entry = this.#table.firstIn(bucket); entry !== 0; entry = this.#table.nextInBucket(entry)) {
          if (!this.#table.isExpired(entry, nowMs)) entries.push(this.#describe(entry, nowMs));
        }
      }
      return { entries, next: end === this.#table.geometry.buckets ? undefined : end };
    });
  }

  facts(): DictionaryFacts {
    return this.#locked(() => ({
      entries: this.#table.entries,
      freeBytes: this.#table.freeBlocks * BLOCK_BYTES,
      capacityBytes: this.#table.geometry.blocks * BLOCK_BYTES,
      evicted: this.#table.evicted,
    }));
  }

  #withEntry<T>(key: string, act: (entry: number) => T): T | undefined {
    this.#payload.encode(key);
    return this.#locked(() => {
      const entry = this.#table.find(this.#payload, this.#now());
      if (entry === 0) return undefined;
      this.#use(entry);
      return act(entry);
    });
  }

  #put(key: string, { value, ttlMs, where }: PutOptions): boolean {
    const text = typeof value === 'string' ? value : '';
    // Checked before encoding, so that a text that cannot fit takes no memory.
    if (text.length > this.#table.geometry.blocks * BLOCK_BYTES) throw full();
    this.#payload.encode(key, text);
    return this.#locked(() => {
      const nowMs = this.#now();
      const replaced = this.#table.find(this.#payload, nowMs);
      if (where !== 'any' && (replaced === 0) !== (where === 'absent')) return false;
      this.#store(value, { replaced, nowMs, ttlMs });
      return true;
    });
  }

  #begin(value: number, ttlMs: number | undefined, nowMs: number): number {
    this.#store(value, { replaced: 0, nowMs, ttlMs });
    return value;
  }

  /**
   * Stores the payload as an entry with this value, instead of `replaced` if that is given. Must be called under the
   * lock.
   */
  #store(value: DictionaryValue, { replaced, nowMs, ttlMs = this.#timeoutMs }: StoreOptions): void {
    const { changes } = this.#table;
    if (changes?.isShared === true && this.#payload.length > changes.mostBytes)
      throw tooLarge(changes.mostBytes);
    const stored = { value, expiresMs: ttlMs === 0 ? 0 : nowMs + ttlMs };
    if (!this.#table.put(this.#payload, stored, { replaced, nowMs, evict: this.#evict })) throw full();
  }

  /** The order of use matters only if it decides which entries are evicted. */
  #use(entry: number): void {
    if (this.#evict) this.#table.touch(entry);
  }

  #living(limit: number): number[] {
    const nowMs = this.#now();
    const found: number[] = [];
    for (
      let entry = this.#table.newest;
      entry !== 0 && found.length < limit;
      entry = this.#table.older(entry)
    ) {
      if (!this.#table.isExpired(entry, nowMs)) found.push(entry);
    }
    return found;
  }

  #describe(entry: number, nowMs: number): DictionaryEntry {
    const expiresMs = this.#table.expiresMs(entry);
    return {
      key: this.#table.key(entry),
      value: this.#table.value(entry),
      ttlMs: expiresMs === 0 ? 0 : expiresMs - nowMs,
    };
  }

  #locked<T>(act: () => T): T {
    if (!this.#lock.acquire()) throw new DictionaryFault('busy', 'the dictionary is busy');
    try {
      return act();
    } finally {
      this.#lock.release();
    }
  }
}

function full(): DictionaryFault {
  return new DictionaryFault('no memory', 'the dictionary is full');
}

function tooLarge(mostBytes: number): DictionaryFault {
  return new DictionaryFault(
    'too large',
    `key and value have more than ${mostBytes} bytes, and cannot be shared`,
  );
}
