import { Payload } from '../dictionary/payload.ts';
import { repairDictionary } from '../dictionary/rebuild.ts';
import { Table } from '../dictionary/table.ts';
import { MAGIC_WORD, memoryOf } from '../layout.ts';
import { ZoneLock, setAlive } from '../lock.ts';
import { zoneIdentity } from '../zone-memory.ts';
import { REQUEST_LIMIT_MAGIC, seedOf } from './layout.ts';

/** Nothing in these tables expires; and when a key was seen that was not seen yet. */
const NEVER = -Infinity;
/** A clock that went back further than this has been set anew. */
const CLOCK_SET_MS = -60_000;
/** One request, in the unit of all rates and excesses here. */
const REQUEST = 1000;

/** Opens a zone of request limits for this thread. Throws when the memory holds none. */
export function openRequestRates(buffer: SharedArrayBuffer, threadId: number): RequestRates {
  return new RequestRates(buffer, threadId);
}

/**
 * The leaky buckets of a zone by key (nginx ngx_http_limit_req_lookup): all numbers are whole thousandths of requests, all
 * times milliseconds. A full zone forgets the keys that were not seen for the longest time. Between `acquire` and `release`
 * no other thread comes in between.
 */
export class RequestRates {
  /** The same for all threads: who locks several zones takes them in this order. */
  readonly order: string;
  readonly #table: Table;
  readonly #lock: ZoneLock;
  readonly #payload: Payload;
  #entry = 0;
  #elapsedMs = 0;

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

  /** The key, of 1 to 65535 bytes, that the next `excess` is about. */
  choose(key: string): void {
    this.#payload.encode(key);
  }

  acquire(): boolean {
    return this.#lock.acquire();
  }

  release(): void {
    this.#lock.release();
  }

  /** What the chosen key's bucket would hold with one more request; `undefined`: the zone is too small for the key. */
  excess(ratePerSecond: number, nowMs: number): number | undefined {
    const table = this.#table;
    this.#entry = table.find(this.#payload, NEVER);
    if (this.#entry === 0) return this.#begin();
    table.touch(this.#entry);
    const elapsedMs = nowMs - table.expiresMs(this.#entry);
    this.#elapsedMs = elapsedMs < CLOCK_SET_MS ? 1 : Math.max(0, elapsedMs);
    const drained = Math.floor((ratePerSecond * this.#elapsedMs) / 1000);
    return Math.max(0, table.number(this.#entry) - drained + REQUEST);
  }

  /** Takes the request in: the bucket holds what `excess` gave. */
  count(excess: number, nowMs: number): void {
    if (this.#elapsedMs > 0) this.#table.setTime(this.#entry, nowMs);
    this.#table.setNumber(this.#entry, excess);
  }

  #begin(): number | undefined {
    const table = this.#table;
    if (!table.reserve(this.#payload.length, { replaced: 0, nowMs: NEVER, evict: true })) return undefined;
    table.insert(this.#payload, { value: 0, expiresMs: NEVER });
    this.#entry = table.newest;
    this.#elapsedMs = Infinity;
    return 0;
  }
}
