import { LRUCache } from 'lru-cache';
import { type Admitting, type Grant, StoreLost } from '../stores/index.ts';

/** A bucket of a rate limit in the store. */
export interface Bucket extends Omit<Admitting, 'requests'> {
  /** No requests are taken ahead. */
  readonly isExact: boolean;
}

/** The verdict on a request, with the fill of the bucket in thousandths of requests. `lost`: the store was too late. */
export type Verdict =
  { readonly verdict: 'counted' | 'refused'; readonly excess: number } | { readonly verdict: 'lost' };

interface LimitLeasesParts {
  readonly take: (admitting: Admitting) => Promise<Grant>;
  /** How long requests that were taken ahead can be used. */
  readonly leaseMs: number;
  /** How long a request waits for the store. */
  readonly waitMs: number;
  /** The number of gateways that take from the buckets, this one included. */
  readonly liveNodes: () => number;
}

/** One request in the unit of rates and fills. */
const REQUEST = 1000;
/** The lowest rate with leases: below it, a lease would take requests that other gateways need. */
const LOWEST_LEASED = 10 * REQUEST;
/**
 * The part of a burst that all gateways together may take ahead. They may take it at the same time and unevenly; the
 * rest is left for requests that come at once, which must not be refused or have to wait because of leases.
 */
const TAKEN_AHEAD = 1 / 2;
const MOST_KEYS = 10_000;
/** Maximum calls that wait for the store: clients that choose keys must leave room for other calls of a gateway. */
const MOST_CALLS = 500;
/** How long a refusal can be repeated without asking the store, which may have lost or replaced the bucket since. */
const LONGEST_REFUSAL_MS = 60_000;
/** The verdict without the store. */
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

/** Returns the fill less what has drained since. */
function drained({ excess, atMs }: Fill, rate: number, nowMs: number): number {
  return Math.max(0, excess - Math.floor((rate * (nowMs - atMs)) / 1000));
}

/** Refusals of buckets that still have no room for a request. Those not used for longest are forgotten. */
export class Refusals {
  readonly #fills = new LRUCache<string, Fill>({ max: MOST_KEYS });

  add(id: string, excess: number): void {
    this.#fills.set(id, { excess, atMs: performance.now() });
  }

  /** Returns the refusal of one more request if it is certain. */
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
 * The requests that one gateway has taken ahead from the buckets of the store. It takes as many as are expected for a
 * short time, so that not each one asks the store. Unused ones lapse. Rate and burst are never exceeded.
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

/** The requests that were taken ahead from one bucket. */
class Lease {
  readonly #bucket: Bucket;
  readonly #parts: LimitLeasesParts;
  readonly #isLeased: boolean;
  /** Requests that can be let through until the lease ends, and the fill of the bucket with the next one. */
  #left = 0;
  #fill: Fill = { excess: 0, atMs: -Infinity };
  /** The fill that a request beyond the burst would have made. */
  #refused: Fill | undefined;
  /** Requests that wait for the store, the oldest first. */
  readonly #waiting = new Set<Settle>();
  #isAsking = false;
  /** Requests in this period, which is as long as a lease, and those expected from the former period. */
  #count = 0;
  #sinceMs = 0;
  #expected = 0;

  constructor(bucket: Bucket, parts: LimitLeasesParts) {
    this.#bucket = bucket;
    this.#parts = parts;
    this.#isLeased = !bucket.isExact && bucket.milliRequestsPerSecond >= LOWEST_LEASED;
  }

  /** Counts or refuses a request if the lease allows that; otherwise asks the store. */
  admit(): Promise<Verdict> {
    this.#note();
    const known = this.#waiting.size === 0 ? (this.#use() ?? this.#refusal()) : undefined;
    if (known) return Promise.resolve(known);
    return new Promise((resolve) => {
      // If this thread was busy, the reply may have arrived, and is read after the timers.
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

  /** Asks the store, one call at a time, until no request waits. */
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

  /** Returns how many requests to take ahead: as many as are expected, within the share of this gateway. */
  #ahead(): number {
    if (!this.#isLeased) return 0;
    const mostOfAll = (this.#bucket.burst / REQUEST) * TAKEN_AHEAD;
    return Math.min(this.#expected, Math.floor(mostOfAll / this.#parts.liveNodes()));
  }

  #settleAll(verdict: Verdict): void {
    for (const settle of this.#waiting) settle(verdict);
  }
}
