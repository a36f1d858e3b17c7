import { LRUCache } from 'lru-cache';
import { type Admitting, type Grant, StoreLost } from '../stores/index.ts';

/** A bucket of a rate limit in the store. */
export interface Bucket extends Omit<Admitting, 'requests'> {
  /** Nothing is taken for requests that have not come yet. */
  readonly isExact: boolean;
}

/** What became of a request: the fill of the bucket with it, in thousandths of requests. `lost`: the store has not told in time. */
export type Verdict =
  { readonly verdict: 'counted' | 'refused'; readonly excess: number } | { readonly verdict: 'lost' };

interface LimitLeasesParts {
  readonly take: (admitting: Admitting) => Promise<Grant>;
  /** How long what was taken from a bucket can be used. */
  readonly leaseMs: number;
  /** How long a request waits. */
  readonly waitMs: number;
  /** The number of gateways that take from the buckets, this one included. */
  readonly liveNodes: () => number;
}

/** One request, in the unit of rates and fills. */
const REQUEST = 1000;
/** Below this rate a lease would take what other gateways need. */
const LOWEST_LEASED = 10 * REQUEST;
/**
 * The part of a burst that all gateways together take ahead at most. They take it at the same time, and not evenly: the rest is for
 * the requests that come at once, which must not be refused or wait because of leases.
 */
const TAKEN_AHEAD = 1 / 2;
const MOST_KEYS = 10_000;
/** Calls that wait for the store: clients who choose keys must leave room for what else a gateway sends it. */
const MOST_CALLS = 500;
/** No refusal is remembered for longer: the bucket may be another one by then, or may never have been so full. */
const LONGEST_REFUSAL_MS = 60_000;
/** The store has not told. */
export const LOST: Verdict = { verdict: 'lost' };

/** Identifies a bucket and its settings, which a reload may change. */
export function bucketId({ zone, keyHash, milliRequestsPerSecond, burst }: Bucket): string {
  return `${keyHash} ${milliRequestsPerSecond} ${burst} ${zone}`;
}

/** The fill of a bucket at a moment. */
interface Fill {
  readonly excess: number;
  readonly atMs: number;
}

/** The fill, less what has drained since. */
function drained({ excess, atMs }: Fill, rate: number, nowMs: number): number {
  return Math.max(0, excess - Math.floor((rate * (nowMs - atMs)) / 1000));
}

/** Refusals, as long as one more request would not fit. The least used are forgotten. */
export class Refusals {
  readonly #fills = new LRUCache<string, Fill>({ max: MOST_KEYS });

  add(id: string, excess: number): void {
    this.#fills.set(id, { excess, atMs: performance.now() });
  }

  /** Gives the refusal of one more request, if it is certain. */
  find(id: string, bucket: Bucket): Verdict | undefined {
    const fill = this.#fills.get(id);
    return fill && refusalAt(fill, bucket);
  }
}

function refusalAt(fill: Fill, { milliRequestsPerSecond, burst }: Bucket): Verdict | undefined {
  const nowMs = performance.now();
  if (nowMs - fill.atMs >= LONGEST_REFUSAL_MS) return undefined;
  const excess = drained(fill, milliRequestsPerSecond, nowMs);
  return excess > burst ? { verdict: 'refused', excess } : undefined;
}

/**
 * What one gateway has taken from the buckets of the store. It takes for a short time what the requests of a key are expected to
 * need, so that not each of them asks the store; what is not used lapses. In all, never more than rate and burst.
 */
export class LimitLeases {
  readonly #parts: LimitLeasesParts;
  readonly #leases = new LRUCache<string, Lease>({ max: MOST_KEYS });
  #calls = 0;

  constructor(parts: LimitLeasesParts) {
    this.#parts = { ...parts, take: (admitting) => this.#take(parts, admitting) };
  }

  /** Counts a request. Never rejects. */
  admit(bucket: Bucket): Promise<Verdict> {
    const id = bucketId(bucket);
    let lease = this.#leases.get(id);
    if (!lease) {
      lease = new Lease(bucket, this.#parts);
      this.#leases.set(id, lease);
    }
    return lease.admit();
  }

  async #take({ take }: LimitLeasesParts, admitting: Admitting): Promise<Grant> {
    if (this.#calls >= MOST_CALLS) throw new StoreLost('too many limits wait for it');
    this.#calls += 1;
    try {
      return await take(admitting);
    } finally {
      this.#calls -= 1;
    }
  }
}

type Settle = (verdict: Verdict) => void;

/** What was taken from one bucket. */
class Lease {
  readonly #bucket: Bucket;
  readonly #parts: LimitLeasesParts;
  readonly #isLeased: boolean;
  /** Requests that can be let through until the lease ends, and the fill of the bucket with the next of them. */
  #left = 0;
  #fill: Fill = { excess: 0, atMs: -Infinity };
  /** The fill with one request more than the bucket could take. */
  #refused: Fill | undefined;
  /** Requests that wait for the store, the oldest first. */
  readonly #waiting = new Set<Settle>();
  #isAsking = false;
  /** Requests of this period, which is as long as a lease, and those to be expected after the period before. */
  #count = 0;
  #sinceMs = 0;
  #expected = 0;

  constructor(bucket: Bucket, parts: LimitLeasesParts) {
    this.#bucket = bucket;
    this.#parts = parts;
    this.#isLeased = !bucket.isExact && bucket.milliRequestsPerSecond >= LOWEST_LEASED;
  }

  /** Lets a request through or refuses it, if that is known; else asks the store. */
  admit(): Promise<Verdict> {
    this.#note();
    const known = this.#waiting.size === 0 ? (this.#use() ?? this.#refusal()) : undefined;
    if (known) return Promise.resolve(known);
    return new Promise((resolve) => {
      // If this thread was busy, the reply may be there, and be read after the timers.
      const timer = setTimeout(() => setImmediate(() => settle(LOST)), this.#parts.waitMs);
      const settle = (verdict: Verdict): void => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        resolve(verdict);
      };
      this.#waiting.add(settle);
      void this.#ask();
    });
  }

  #note(): void {
    const nowMs = performance.now();
    const { leaseMs } = this.#parts;
    const passedMs = nowMs - this.#sinceMs;
    if (passedMs >= leaseMs) {
      this.#expected = Math.floor((this.#count * leaseMs) / passedMs);
      this.#count = 0;
      this.#sinceMs = nowMs;
    }
    this.#count += 1;
  }

  #use(nowMs = performance.now()): Verdict | undefined {
    const { excess, atMs } = this.#fill;
    if (this.#left === 0 || nowMs - atMs >= this.#parts.leaseMs) return undefined;
    this.#left -= 1;
    this.#fill = { excess: excess + REQUEST, atMs };
    return {
      verdict: 'counted',
      excess: drained({ excess, atMs }, this.#bucket.milliRequestsPerSecond, nowMs),
    };
  }

  #refusal(): Verdict | undefined {
    const refusal = this.#refused && refusalAt(this.#refused, this.#bucket);
    if (!refusal) this.#refused = undefined;
    return refusal;
  }

  /** Asks the store, in one call after another, until nobody waits. */
  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    while (this.#waiting.size > 0) {
      try {
        await this.#take();
      } catch {
        this.#settleAll(LOST);
      }
    }
    this.#isAsking = false;
  }

  async #take(): Promise<void> {
    const { zone, keyHash, milliRequestsPerSecond, burst } = this.#bucket;
    const needed = this.#waiting.size;
    const requests = Math.max(needed, this.#ahead());
    const grant = await this.#parts.take({ zone, keyHash, milliRequestsPerSecond, burst, requests });
    const fill = { excess: grant.excess, atMs: performance.now() };
    this.#left = grant.requests;
    this.#fill = fill;
    for (const settle of this.#waiting) {
      const use = this.#use(fill.atMs);
      if (!use) break;
      settle(use);
    }
    if (grant.requests === requests) return;
    const refused = { ...fill, excess: fill.excess + grant.requests * REQUEST };
    this.#refused = refused;
    this.#settleAll({ verdict: 'refused', excess: refused.excess });
  }

  /** How many requests to take at once, if as many are expected. */
  #ahead(): number {
    if (!this.#isLeased) return 0;
    const mostOfAll = (this.#bucket.burst / REQUEST) * TAKEN_AHEAD;
    return Math.min(this.#expected, Math.floor(mostOfAll / this.#parts.liveNodes()));
  }

  #settleAll(verdict: Verdict): void {
    for (const settle of this.#waiting) settle(verdict);
  }
}
