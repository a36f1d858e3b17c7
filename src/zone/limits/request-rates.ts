import { Payload } from '../dictionary/entry.ts';
import { repairDictionary } from '../dictionary/kind.ts';
import { Table } from '../dictionary/table.ts';
import { MAGIC_WORD, memoryOf } from '../header.ts';
import { setAlive, ZoneLock } from '../lock.ts';
import { zoneIdentity } from '../zone-memory.ts';
import { REQUEST_LIMIT_MAGIC, seedOf } from './kinds.ts';

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

/** One request against one limit; all numbers in thousandths of requests. */
export interface RateLimit {
  readonly rates: RequestRates;
  readonly key: string;
  readonly ratePerSecond: number;
  /** How full the bucket may get. */
  readonly burst: number;
  /** From how full on a request has to wait. */
  readonly delay: number;
}

/** What the limits say: the one that decided, and how full its bucket is (or would have been). */
export type Admission =
  | { readonly verdict: 'passed' }
  | {
      readonly verdict: 'delayed';
      readonly delayMs: number;
      readonly excess: number;
      readonly limit: RateLimit;
    }
  | { readonly verdict: 'rejected'; readonly excess: number; readonly limit: RateLimit }
  /** The zone is too small for the key, or its lock was not to be had. */
  | { readonly verdict: 'failed'; readonly why: 'full' | 'busy'; readonly limit: RateLimit };

const PASSED: Admission = { verdict: 'passed' };

/**
 * Takes a request in where every limit does, and counts it nowhere otherwise (nginx ngx_http_limit_req_handler). No two
 * limits have the same zone. The zones are locked together, so that this is exact over all threads.
 */
export function admit(limits: readonly RateLimit[], nowMs: number = clockMs()): Admission {
  const inOrder = limits.length > 1 ? limits.toSorted(byZone) : limits;
  let locked = 0;
  try {
    for (const limit of inOrder) {
      limit.rates.choose(limit.key);
      if (!limit.rates.acquire()) return { verdict: 'failed', why: 'busy', limit };
      locked++;
    }
    return decide(limits, nowMs);
  } finally {
    while (locked > 0) inOrder[--locked]?.rates.release();
  }
}

/** Always the same order, or two threads might wait for each other. */
function byZone(a: RateLimit, b: RateLimit): number {
  return a.rates.order < b.rates.order ? -1 : 1;
}

function decide(limits: readonly RateLimit[], nowMs: number): Admission {
  const excesses: number[] = [];
  for (const limit of limits) {
    const excess = limit.rates.excess(limit.ratePerSecond, nowMs);
    if (excess === undefined) return { verdict: 'failed', why: 'full', limit };
    if (excess > limit.burst) return { verdict: 'rejected', excess, limit };
    excesses.push(excess);
  }
  let longest: Admission & { delayMs?: number } = PASSED;
  // From the last one back: of equal delays nginx names the later limit.
  for (let index = limits.length - 1; index >= 0; index--) {
    const limit = limits[index] as RateLimit;
    const excess = excesses[index] as number;
    limit.rates.count(excess, nowMs);
    const delayMs = Math.floor(((excess - limit.delay) * 1000) / limit.ratePerSecond);
    if (delayMs > (longest.delayMs ?? 0)) longest = { verdict: 'delayed', delayMs, excess, limit };
  }
  return longest;
}

/** One clock for all threads, which nobody sets. */
function clockMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + Math.floor(nanoseconds / 1_000_000);
}
