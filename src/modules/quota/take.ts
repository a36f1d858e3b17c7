import type { RequestRates } from '../../zone/index.ts';
import { type Period, periodAt, type Window } from './window.ts';

/** A request to count in one quota. */
export interface Demand {
  readonly zone: string;
  readonly rates: RequestRates;
  readonly key: string;
  readonly limit: number;
  readonly window: Window;
  readonly cost: number;
  /** Called when a key whose window is not over was dropped for this one. */
  readonly dropped?: () => void;
}

/** What is left of a quota. */
export interface Balance {
  readonly demand: Demand;
  readonly left: number;
  readonly period: Period;
}

/** The result: what is left of each quota, and the one that refuses. */
export interface Outcome {
  readonly balances: readonly Balance[];
  readonly refusedBy?: Balance;
  /** A zone was locked for too long, has no room for the key, or is in a store that has not responded. */
  readonly failed?: { readonly demand: Demand; readonly why: 'busy' | 'full' | 'lost' };
}

/**
 * Counts a request in all quotas if each of them allows it, and in none otherwise. No two demands have the same zone.
 * The zones are locked together, so the result is exact over all threads.
 */
export function take(demands: readonly Demand[], nowMs: number): Outcome {
  const inOrder = demands.toSorted((a, b) => (a.rates.order < b.rates.order ? -1 : 1));
  let locked = 0;
  try {
    for (const demand of inOrder) {
      demand.rates.choose(demand.key);
      if (!demand.rates.acquire()) return { balances: [], failed: { demand, why: 'busy' } };
      locked += 1;
    }
    return count(demands, nowMs);
  } finally {
    while (locked > 0) inOrder[--locked]?.rates.release();
  }
}

function count(demands: readonly Demand[], nowMs: number): Outcome {
  const before: Balance[] = [];
  for (const demand of demands) {
    if (!find(demand, nowMs)) return { balances: [], failed: { demand, why: 'full' } };
    before.push(balanceOf(demand, nowMs));
  }
  const refusedBy = before.find(({ demand: { cost }, left }) => cost > left);
  if (refusedBy) return { balances: before, refusedBy };
  return {
    balances: before.map(({ demand, left, period }) => {
      const { rates, cost, limit } = demand;
      rates.number = limit - left + cost;
      rates.writtenMs = nowMs;
      return { demand, left: left - cost, period };
    }),
  };
}

/** Finds the key or makes room for it: by a key whose window is over or, without such keys, by any. */
function find({ rates, window, dropped }: Demand, nowMs: number): boolean {
  if (rates.find(periodAt(window, nowMs).startMs - 1)) return true;
  if (!rates.find()) return false;
  dropped?.();
  return true;
}

/** What is left before the request. The count of an earlier window is over. */
function balanceOf(demand: Demand, nowMs: number): Balance {
  const { rates, limit, window } = demand;
  const period = periodAt(window, nowMs);
  const used = rates.writtenMs >= period.startMs ? rates.number : 0;
  return { demand, left: Math.max(0, limit - used), period };
}
