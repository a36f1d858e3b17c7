import type { RequestRates } from '../../zone/index.ts';

/*
 * nginx's leaky buckets (ngx_http_limit_req_lookup): numbers are whole thousandths of requests, times milliseconds.
 */

/** One request. */
const REQUEST = 1000;
/** A clock that went back further than this has been set anew. */
const CLOCK_SET_MS = -60_000;

/** One request against one limit. */
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
    if (!limit.rates.find()) return { verdict: 'failed', why: 'full', limit };
    const excess = excessOf(limit, nowMs);
    if (excess > limit.burst) return { verdict: 'rejected', excess, limit };
    excesses.push(excess);
  }
  let longest: Admission & { delayMs?: number } = PASSED;
  // From the last one back: of equal delays nginx names the later limit.
  for (let index = limits.length - 1; index >= 0; index--) {
    const limit = limits[index] as RateLimit;
    const excess = excesses[index] as number;
    if (elapsedMs(limit.rates, nowMs) > 0) limit.rates.writtenMs = nowMs;
    limit.rates.number = excess;
    const delayMs = Math.floor(((excess - limit.delay) * 1000) / limit.ratePerSecond);
    if (delayMs > (longest.delayMs ?? 0)) longest = { verdict: 'delayed', delayMs, excess, limit };
  }
  return longest;
}

/** What the bucket would hold with one more request. */
function excessOf({ rates, ratePerSecond }: RateLimit, nowMs: number): number {
  const drained = Math.floor((ratePerSecond * elapsedMs(rates, nowMs)) / 1000);
  return Math.max(0, rates.number - drained + REQUEST);
}

function elapsedMs({ writtenMs }: RequestRates, nowMs: number): number {
  const elapsed = nowMs - writtenMs;
  return elapsed < CLOCK_SET_MS ? 1 : Math.max(0, elapsed);
}

/** One clock for all threads, which nobody sets. */
function clockMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + Math.floor(nanoseconds / 1_000_000);
}
