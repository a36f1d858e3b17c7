import { Payload } from '../dictionary/entry.ts';
import { Table } from '../dictionary/table.ts';
import { MAGIC_WORD, memoryOf } from '../header.ts';
import { setAlive, ZoneLock } from '../lock.ts';
import { CONNECTION_LIMIT_MAGIC, connectionLimitKind, seedOf, shareOf, totalOf } from './kinds.ts';

/** Entries of these tables never expire. */
const NEVER = -Infinity;
/** Time until another try to acquire the lock. */
const RETRY_MS = 50;

/** The result of `enter`: counted, too many requests, no room for the key, or lock not acquired. */
export type EntryOutcome = 'counted' | 'limited' | 'full' | 'busy';

/** Opens a zone of connection limits for this thread. Throws if the memory is not one. */
export function openOpenRequests(buffer: SharedArrayBuffer, threadId: number): OpenRequests {
  return new OpenRequests(buffer, threadId);
}

/** Counts requests in progress by key, over all threads. The counts of a thread that dies are removed. */
export class OpenRequests {
  readonly #table: Table;
  readonly #lock: ZoneLock;
  readonly #threadId: number;
  readonly #total: Payload;
  readonly #share: Payload;

  constructor(buffer: SharedArrayBuffer, threadId: number) {
    const memory = memoryOf(buffer);
    if (memory.u32[MAGIC_WORD] !== CONNECTION_LIMIT_MAGIC) {
      throw new TypeError('the shared memory does not hold connection limits');
    }
    this.#table = new Table(memory);
    this.#total = new Payload(seedOf(memory));
    this.#share = new Payload(seedOf(memory));
    this.#threadId = threadId;
    setAlive(memory.i32, threadId);
    this.#lock = new ZoneLock(memory.i32, threadId, () => connectionLimitKind.repair(buffer));
  }

  /** Counts a request unless its key already has `limit` requests. A counted request must call `leave`. */
  enter(key: string, limit: number): EntryOutcome {
    this.#encode(key);
    if (!this.#lock.acquire()) return 'busy';
    try {
      const total = this.#table.find(this.#total, NEVER);
      if (total !== 0 && this.#table.number(total) >= limit) return 'limited';
      return this.#add(total) ? 'counted' : 'full';
    } finally {
      this.#lock.release();
    }
  }

  /** Uncounts a request. If the lock cannot be acquired, tries again later. */
  leave(key: string): void {
    this.#encode(key);
    if (!this.#lock.acquire()) {
      setTimeout(() => this.leave(key), RETRY_MS);
      return;
    }
    try {
      for (const payload of [this.#total, this.#share]) {
        const entry = this.#table.find(payload, NEVER);
        if (entry === 0) continue;
        const left = this.#table.number(entry) - 1;
        if (left > 0) this.#table.setNumber(entry, left);
        else this.#table.remove(entry);
      }
    } finally {
      this.#lock.release();
    }
  }

  /** Must be called under the lock. Returns false if there is no room; nothing has changed then. */
  #add(total: number): boolean {
    if (!this.#increment(this.#share, this.#table.find(this.#share, NEVER))) return false;
    if (this.#increment(this.#total, total)) return true;
    // Without a total, there was no share before.
    this.#table.remove(this.#table.find(this.#share, NEVER));
    return false;
  }

  #increment(payload: Payload, entry: number): boolean {
    if (entry !== 0) {
      this.#table.setNumber(entry, this.#table.number(entry) + 1);
      return true;
    }
    if (!this.#table.reserve(payload.length, { replaced: 0, nowMs: NEVER, evict: false })) return false;
    this.#table.insert(payload, { value: 1, expiresMs: 0 });
    return true;
  }

  #encode(key: string): void {
    this.#total.encode(totalOf(key));
    this.#share.encode(shareOf(key, this.#threadId));
  }
}
