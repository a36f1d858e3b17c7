import { Payload } from '../dictionary/entry.ts';
import { Table } from '../dictionary/table.ts';
import { MAGIC_WORD, memoryOf } from '../header.ts';
import { setAlive, ZoneLock } from '../lock.ts';
import { CONNECTION_LIMIT_MAGIC, connectionLimitKind, seedOf, shareOf, totalOf } from './kinds.ts';

/** Nothing in these tables expires. */
const NEVER = -Infinity;
/** When a lock that was not to be had is tried again. */
const RETRY_MS = 50;

/** What became of a request: it counts, there are too many, the zone has no room for its key, or was not to be locked. */
export type EntryOutcome = 'counted' | 'limited' | 'full' | 'busy';

/** Opens a zone of connection limits for this thread. Throws when the memory holds none. */
export function openOpenRequests(buffer: SharedArrayBuffer, threadId: number): OpenRequests {
  return new OpenRequests(buffer, threadId);
}

/** How many requests there are of each key, over all threads. What a thread that dies had in here does not stay. */
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

  /** Counts one more request of a key, unless there are `limit` of them. Whoever is counted has to leave again. */
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

  /** One request of a key less. Where the lock is not to be had, a moment later. */
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

  /** Under the lock. False: there is no room, and nothing has changed. */
  #add(total: number): boolean {
    if (!this.#increment(this.#share, this.#table.find(this.#share, NEVER))) return false;
    if (this.#increment(this.#total, total)) return true;
    // A key without a total had no share either.
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
