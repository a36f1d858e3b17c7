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
import { BLOCK_BYTES, DICTIONARY_MAGIC, DICTIONARY_VERSION, repairDictionary } from './kind.ts';
import { Table } from './table.ts';

interface PutOptions {
  readonly value: DictionaryValue;
  readonly ttlMs: number | undefined;
  /** Where the value goes: to keys without one, to keys with one, or to any. */
  readonly where: 'absent' | 'present' | 'any';
}

interface StoreOptions {
  readonly replaced: number;
  readonly nowMs: number;
  readonly ttlMs: number | undefined;
}

const DEFAULT_LIMIT = 1024;
/** Entries that `scan` shows under one hold of the lock are about as many. */
const SCANNED_BUCKETS = 256;

/**
 * Opens a zone's dictionary for this thread. `threadId` is 0 in the master, else the worker's id, 1 to 511.
 * Throws when the memory holds no dictionary.
 */
export function openDictionary(
  buffer: SharedArrayBuffer,
  threadId: number,
  options: DictionaryOptions = {},
): Dictionary {
  return new Dictionary(memoryOf(buffer), threadId, options);
}

/**
 * Values by key that all threads share. Each call is one step that no other thread can come between. Every method
 * throws a `DictionaryFault`: `busy` when the lock was not to be had in 250 ms, `bad key` when the key is empty or
 * longer than 65535 bytes.
 */
export class Dictionary {
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
  }

  /** The value of a key; `undefined`: there is none. With `evict` this counts as a use. */
  get(key: string): DictionaryValue | undefined {
    return this.#withEntry(key, (entry) => this.#table.value(entry));
  }

  /** Value and lifetime of a key; `undefined`: there is none. Like `get` otherwise. */
  entry(key: string): DictionaryEntry | undefined {
    return this.#withEntry(key, (entry) => this.#describe(entry, this.#now()));
  }

  /** Stores a value. `ttlMs` 0: for ever; absent: the dictionary's own timeout. Throws `no memory`. */
  set(key: string, value: DictionaryValue, ttlMs?: number): void {
    this.#put(key, { value, ttlMs, where: 'any' });
  }

  /** Stores a value unless the key has one: false then. Throws `no memory`. */
  add(key: string, value: DictionaryValue, ttlMs?: number): boolean {
    return this.#put(key, { value, ttlMs, where: 'absent' });
  }

  /** Stores a value if the key has one: false when not. Throws `no memory`. */
  replace(key: string, value: DictionaryValue, ttlMs?: number): boolean {
    return this.#put(key, { value, ttlMs, where: 'present' });
  }

  /**
   * Adds to a number and gives the sum; the entry's lifetime stays. A key without value begins at `init`, if
   * given, and lives for `ttlMs`; else `undefined`. Throws `not a number`, `no memory`.
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
      this.#table.setNumber(entry, value + delta);
      this.#use(entry);
      return value + delta;
    });
  }

  /** False: there was nothing to delete. */
  delete(key: string): boolean {
    const deleted = this.#withEntry(key, (entry) => {
      this.#table.remove(entry);
      return true;
    });
    return deleted === true;
  }

  /** Keys, the most recently written (with `evict`: used) first. Holds all other threads up meanwhile, hence `limit`. */
  keys(limit: number = DEFAULT_LIMIT): string[] {
    return this.#locked(() => this.#living(limit).map((entry) => this.#table.key(entry)));
  }

  /** Like `keys`, with values and lifetimes. */
  list(limit: number = DEFAULT_LIMIT): DictionaryEntry[] {
    return this.#locked(() => {
      const nowMs = this.#now();
      return this.#living(limit).map((entry) => this.#describe(entry, nowMs));
    });
  }

  /**
   * All entries, part by part and in no order, so that other threads never wait long. What is there all the time is
   * found once; what comes or goes meanwhile may be missed.
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
    // Before the bytes are made: what can never fit must not cost memory either.
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

  /** Under the lock: the payload with this value becomes an entry, in place of another one or as a new one. */
  #store(value: DictionaryValue, { replaced, nowMs, ttlMs = this.#timeoutMs }: StoreOptions): void {
    const table = this.#table;
    if (!table.reserve(this.#payload.length, { replaced, nowMs, evict: this.#evict })) {
      throw full();
    }
    if (replaced !== 0) table.remove(replaced);
    table.insert(this.#payload, { value, expiresMs: ttlMs === 0 ? 0 : nowMs + ttlMs });
  }

  /** Recency only counts where it decides who has to go. */
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
