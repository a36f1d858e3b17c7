import { LRUCache } from 'lru-cache';
import { type Counted, type Counting, StoreLost } from '../stores/index.ts';

/** A request of a quota, in one of its windows. */
export interface QuotaDemand {
  readonly zone: string;
  /** Hash of the key and of the window. */
  readonly keyHash: string;
  readonly limit: number;
  /** What the request counts as; at least 1. */
  readonly cost: number;
  /** How long the store keeps the count. */
  readonly ttlMs: number;
  /** No requests are taken ahead. */
  readonly isExact: boolean;
}

/** The verdict on a request, with what is left of the quota after it. `lost`: the store was too late. */
export type QuotaVerdict =
  { readonly verdict: 'counted' | 'refused'; readonly left: number } | { readonly verdict: 'lost' };

interface QuotaLeasesParts {
  readonly take: (counting: Counting) => Promise<Counted>;
  /** The time in which requests are counted, to know how many to expect. */
  readonly leaseMs: number;
  /** How long a request waits for the store. */
  readonly waitMs: number;
  readonly liveNodes: () => number;
}

/**
 * The part of a quota that all gateways together may hold ahead. They keep it until it is used, so it is what a quota
 * may lose if its last requests come at another gateway.
 */
const TAKEN_AHEAD = 1 / 200;
const MOST_KEYS = 10_000;
/** Maximum calls that wait for the store. */
const MOST_CALLS = 500;
/** How long a refusal is repeated without asking the store, which may have been emptied since. */
const REFUSAL_MS = 5_000;
export const LOST: QuotaVerdict = { verdict: 'lost' };

/** The requests that one gateway has taken ahead from the quotas of the store. Quotas are never exceeded. */
export class QuotaLeases {
  readonly #parts: QuotaLeasesParts;
  readonly #leases = new LRUCache<string, QuotaLease>({ max: MOST_KEYS });
  #calls = 0;

  constructor(parts: QuotaLeasesParts) {
    this.#parts = { ...parts, take: (counting) => this.#take(parts, counting) };
  }

  /** Counts a request. Never rejects. */
  count(demand: QuotaDemand): Promise<QuotaVerdict> {
    const id = leaseId(demand);
    let lease = this.#leases.get(id);
    if (!lease) {
      lease = new QuotaLease(demand, this.#parts);
      this.#leases.set(id, lease);
    }
    return lease.count(demand.cost);
  }

  /** Takes back a request that was counted, and was refused for another reason. */
  async giveBack(demand: QuotaDemand): Promise<void> {
    await this.#leases.get(leaseId(demand))?.giveBack(demand.cost);
  }

  async #take({ take }: QuotaLeasesParts, counting: Counting): Promise<Counted> {
    if (this.#calls >= MOST_CALLS) throw new StoreLost('too many quotas wait for it');
    this.#calls += 1;
    try {
      return await take(counting);
    } finally {
      this.#calls -= 1;
    }
  }
}

function leaseId({ zone, keyHash, limit }: QuotaDemand): string {
  return `${keyHash} ${limit} ${zone}`;
}

/** A request that waits for the store. */
interface Waiting {
  readonly cost: number;
  readonly settle: (verdict: QuotaVerdict) => void;
}

/** The requests that were taken ahead from one window of a quota. They can be used until it ends. */
class QuotaLease {
  readonly #demand: QuotaDemand;
  readonly #parts: QuotaLeasesParts;
  /** Requests that can be let through without asking. */
  #held = 0;
  /** What the store had left at `#knownMs`. */
  #left = Infinity;
  #knownMs = -Infinity;
  /** The oldest first. */
  readonly #waiting = new Set<Waiting>();
  #isAsking = false;
  /** Costs in this period, and those expected from the former one. */
  #cost = 0;
  #sinceMs = 0;
  #expected = 0;

  constructor(demand: QuotaDemand, parts: QuotaLeasesParts) {
    this.#demand = demand;
    this.#parts = parts;
  }

  /** Counts or refuses a request if that is certain; otherwise asks the store. */
  count(cost: number): Promise<QuotaVerdict> {
    this.#note(cost);
    const known = this.#waiting.size === 0 ? (this.#use(cost) ?? this.#refusal(cost)) : undefined;
    if (known) return Promise.resolve(known);
    return new Promise((resolve) => {
      // If this thread was busy, the reply may have arrived, and is read after the timers.
      const timer = setTimeout(() => setImmediate(() => settle(LOST)), this.#parts.waitMs);
      const settle = (verdict: QuotaVerdict): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
        resolve(verdict);
      };
      const waiting = { cost, settle };
      this.#waiting.add(waiting);
      void this.#ask();
    });
  }

  /** Gives to the store what is more than this gateway may hold; if that fails, it holds it. */
  async giveBack(cost: number): Promise<void> {
    this.#held += cost;
    const surplus = this.#held - this.#share;
    if (surplus <= 0) return;
    const { zone, keyHash, limit, ttlMs } = this.#demand;
    this.#held -= surplus;
    try {
      await this.#parts.take({ zone, keyHash, limit, needed: -surplus, more: 0, ttlMs });
      this.#left += surplus;
    } catch {
      this.#held += surplus;
    }
  }

  #note(cost: number): void {
    const nowMs = performance.now();
    const { leaseMs } = this.#parts;
    const passedMs = nowMs - this.#sinceMs;
    if (passedMs >= leaseMs) {
      this.#expected = Math.floor((this.#cost * leaseMs) / passedMs);
      this.#cost = 0;
      this.#sinceMs = nowMs;
    }
    this.#cost += cost;
  }

  #use(cost: number): QuotaVerdict | undefined {
    if (cost > this.#held || this.#knownMs < 0) return undefined;
    this.#held -= cost;
    return { verdict: 'counted', left: this.#known };
  }

  /** What is left of the quota, as far as this gateway knows. */
  get #known(): number {
    return this.#held + this.#left;
  }

  #refusal(cost: number): QuotaVerdict | undefined {
    if (performance.now() - this.#knownMs >= REFUSAL_MS || cost <= this.#known) return undefined;
    return { verdict: 'refused', left: this.#known };
  }

  /** Asks the store, one call at a time, until no request waits. */
  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    for (let [first] = this.#waiting; first; [first] = this.#waiting) {
      const refusal = this.#refusal(first.cost);
      if (refusal) {
        first.settle(refusal);
        continue;
      }
      try {
        await this.#takeFor(first);
      } catch {
        for (const { settle } of this.#waiting) settle(LOST);
      }
    }
    this.#isAsking = false;
  }

  async #takeFor(first: Waiting): Promise<void> {
    const { zone, keyHash, limit, ttlMs } = this.#demand;
    const all = [...this.#waiting].reduce((sum, { cost }) => sum + cost, 0);
    const needed = Math.max(1, first.cost - this.#held);
    const more = Math.max(0, all - this.#held - needed) + this.#ahead();
    const { requests, used } = await this.#parts.take({ zone, keyHash, limit, needed, more, ttlMs });
    this.#held += requests;
    this.#left = Math.max(0, limit - used);
    this.#knownMs = performance.now();
    for (const { cost, settle } of this.#waiting) {
      const use = this.#use(cost);
      if (!use) break;
      settle(use);
    }
    if (requests === 0) first.settle({ verdict: 'refused', left: this.#known });
  }

  /** Returns how many requests to take ahead: as many as are expected, within the share of this gateway. */
  #ahead(): number {
    return Math.min(this.#expected, this.#share);
  }

  /** Returns how many requests this gateway may hold. */
  get #share(): number {
    const { limit, isExact } = this.#demand;
    return isExact ? 0 : Math.floor((limit * TAKEN_AHEAD) / this.#parts.liveNodes());
  }
}
