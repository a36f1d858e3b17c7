import type { RequestRates } from '../../zone/index.ts';

/* nginx's leaky buckets (ngx_http_limit_req_lookup): numbers are thousandths of requests, times are milliseconds. */

/** One request, in the unit of the rates and fills. */
export const REQUEST = 1000;
/** If the clock has gone back by more than this, it was set. */
const CLOCK_SET_MS = -60_000;

/** One request and one limit. */
export interface RateLimit {
  readonly rates: RequestRates;
  readonly key: string;
  readonly milliRequestsPerSecond: number;
  /** Maximum fill of the bucket. */
  readonly burst: number;
  /** Fill of the bucket beyond which a request has to wait. */
  readonly delay: number;
}

/** The result of all limits: the one that decided, and the fill of its bucket. */
export type Admission =
  | { readonly verdict: 'passed' }
  | {
      readonly verdict: 'delayed';
      readonly delayMs: number;
      readonly excess: number;
      readonly limit: RateLimit;
    }
  | { readonly verdict: 'rejected'; readonly excess: number; readonly limit: RateLimit }
  /** The zone is too small for the key, its lock could not be taken, or the store has not responded. */
  | { readonly verdict: 'failed'; readonly why: 'full' | 'busy' | 'lost'; readonly limit: RateLimit };

/** The fill of a limit's bucket with a request. */
export interface Fill {
  readonly limit: RateLimit;
  readonly excess: number;
}

export const PASSED: Admission = { verdict: 'passed' };

/**
 * Counts a request in all limits if every limit allows it, and in none otherwise (nginx ngx_http_limit_req_handler). No
 * two limits have the same zone. The zones are locked together, so the result is exact over all threads. `fills` gets those
 * of the limits that were looked at.
 */
export function admit(limits: readonly RateLimit[], nowMs: number = clockMs(), fills?: Fill[]): Admission {
  const inOrder = limits.length > 1 ? limits.toSorted(byZone) : limits;
  let locked = 0;
  try {
    for (const limit of inOrder) {
      limit.rates.choose(limit.key);
      if (!limit.rates.acquire()) return { verdict: 'failed', why: 'busy', limit };
      locked++;
    }
    return decide(limits, nowMs, fills);
  } finally {
    while (locked > 0) inOrder[--locked]?.rates.release();
  }
}

/**
 * Counts a request that a shared bucket has admitted: the fill of this bucket becomes at least that of the shared one,
 * so that it can replace it. Not exact: it does nothing if the zone is busy or too small.
 */
export function follow(limit: RateLimit, excess: number, nowMs: number = clockMs()): void {
  const { rates } = limit;
  rates.choose(limit.key);
  if (!rates.acquire()) return;
  try {
    if (!rates.find()) return;
    const own = excessOf(limit, nowMs);
    if (elapsedMs(rates, nowMs) > 0) rates.writtenMs = nowMs;
    rates.number = Math.max(excess, own);
  } finally {
    rates.release();
  }
}

/** Zones are always locked in the same order, to avoid deadlocks. */
function byZone(a: RateLimit, b: RateLimit): number {
  return a.rates.order < b.rates.order ? -1 : 1;
}

function decide(limits: readonly RateLimit[], nowMs: number, fills?: Fill[]): Admission {
  const excesses: number[] = [];
  for (const limit of limits) {
    if (!limit.rates.find()) return { verdict: 'failed', why: 'full', limit };
    const excess = excessOf(limit, nowMs);
    fills?.push({ limit, excess });
    if (excess > limit.burst) return { verdict: 'rejected', excess, limit };
    excesses.push(excess);
  }
  let longest: Admission & { delayMs?: number } = PASSED;
  // In reverse order: of equal delays nginx reports the later limit.
  for (let index = limits.length - 1; index >= 0; index--) {
    const limit = limits[index] as RateLimit;
    const excess = excesses[index] as number;
    if (elapsedMs(limit.rates, nowMs) > 0) limit.rates.writtenMs = nowMs;
    limit.rates.number = excess;
    const delayMs = delayMsOf(limit, excess);
    if (delayMs > (longest.delayMs ?? 0)) longest = { verdict: 'delayed', delayMs, excess, limit };
  }
  return longest;
}

/** Returns the delay of a request by the fill of the bucket; below 1: no delay. */
export function delayMsOf({ delay, milliRequestsPerSecond }: RateLimit, excess: number): number {
  return Math.floor(((excess - delay) * 1000) / milliRequestsPerSecond);
}

/** Returns the fill of the bucket with one more request. */
function excessOf({ rates, milliRequestsPerSecond }: RateLimit, nowMs: number): number {
  const drained = Math.floor((milliRequestsPerSecond * elapsedMs(rates, nowMs)) / 1000);
  return Math.max(0, rates.number - drained + REQUEST);
}

function elapsedMs({ writtenMs }: RequestRates, nowMs: number): number {
  const elapsed = nowMs - writtenMs;
  return elapsed < CLOCK_SET_MS ? 1 : Math.max(0, elapsed);
}

/** Returns the time of a monotonic clock that all threads share, in milliseconds. */
function clockMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + Math.floor(nanoseconds / 1_000_000);
}
