import { Payload } from '../dictionary/entry.ts';
import { repairDictionary } from '../dictionary/kind.ts';
import { Table } from '../dictionary/table.ts';
import { MAGIC_WORD, memoryOf } from '../header.ts';
import { setAlive, ZoneLock } from '../lock.ts';
import { zoneIdentity } from '../zone-memory.ts';
import { REQUEST_LIMIT_MAGIC, seedOf } from './kinds.ts';

/** Entries of these tables never expire. Also the time of a key that was never written. */
const NEVER = -Infinity;

/** Buckets that `scan` reads in one part; they hold about as many keys. */
const SCANNED_BUCKETS = 256;

/** The count of a key, and when it was written. */
interface KeyCount {
  readonly key: string;
  readonly number: number;
  readonly writtenMs: number;
}

/** Opens a zone of request limits for this thread. Throws if the memory is not one. */
export function openRequestRates(buffer: SharedArrayBuffer, threadId: number): RequestRates {
  return new RequestRates(buffer, threadId);
}

/**
 * The rates of requests by key: for each key a number, and the time in milliseconds when it was written. A full zone
 * drops the least recently used keys. Calls between `acquire` and `release` are atomic.
 */
export class RequestRates {
  /** A thread that locks several zones must lock them in this order, which is the same for all threads. */
  readonly order: string;
  readonly #table: Table;
  readonly #lock: ZoneLock;
  readonly #payload: Payload;
  #entry = 0;

  constructor(buffer: SharedArrayBuffer, threadId: number) {
    const memory = memoryOf(buffer);
    if (memory.u32[MAGIC_WORD] !== REQUEST_LIMIT_MAGIC) {
      throw new TypeError('the shared memory does not hold request limits');
    }
    this.order = zoneIdentity(buffer);
    this.#table = new Table(memory);
    this.#payload = new Payload(seedOf(memory));
    setAlive(memory.i32, threadId);
    this.#lock = new ZoneLock(memory.i32, threadId, () => repairDictionary(memory));
  }

  /** A number that differs after each change of the counts. Needs no lock. */
  get revision(): number {
    return this.#table.revision;
  }

  /** Number of keys that were dropped for others since the zone was created. */
  get evicted(): number {
    return this.#table.evicted;
  }

  get entries(): number {
    return this.#table.entries;
  }

  /**
   * Returns a part of the counts, unordered, and the cursor of the next part. Must be called under the lock. Keys that
   * exist during the whole scan are found once.
   */
  scan(cursor: number): { readonly counts: readonly KeyCount[]; readonly next: number | undefined } {
    const table = this.#table;
    const { buckets } = table.geometry;
    const end = Math.min(cursor + SCANNED_BUCKETS, buckets);
    const counts: KeyCount[] = [];
    for (let bucket = cursor; bucket < end; bucket++) {
      for (let entry = table.firstIn(bucket); entry !== 0; entry = table.nextInBucket(entry))
        counts.push({
          key: table.key(entry),
          number: table.number(entry),
          writtenMs: table.expiresMs(entry),
        });
    }
    return { counts, next: end === buckets ? undefined : end };
  }

  /** Sets the key for the next `find`; it has 1 to 65535 bytes. */
  choose(key: string): void {
    this.#payload.encode(key);
  }

  acquire(): boolean {
    return this.#lock.acquire();
  }

  release(): void {
    this.#lock.release();
  }

  /**
   * Finds the chosen key or adds it with 0. Returns false if the zone has no room for it. Keys that were written after
   * `keepAfterMs` are not dropped.
   */
  find(keepAfterMs: number = Infinity): boolean {
    const table = this.#table;
    this.#entry = table.find(this.#payload, NEVER);
    if (this.#entry !== 0) {
      table.touch(this.#entry);
      return true;
    }
    const options = { replaced: 0, nowMs: NEVER, evict: true, keepAfterMs };
    if (!table.reserve(this.#payload.length, options)) return false;
    table.insert(this.#payload, { value: 0, expiresMs: NEVER });
    this.#entry = table.newest;
    return true;
  }

  get number(): number {
    return this.#table.number(this.#entry);
  }

  set number(value: number) {
    this.#table.setNumber(this.#entry, value);
  }

  /** The time at which it was written; `-Infinity` if never. */
  get writtenMs(): number {
    return this.#table.expiresMs(this.#entry);
  }

  set writtenMs(atMs: number) {
    this.#table.setTime(this.#entry, atMs);
  }
}
