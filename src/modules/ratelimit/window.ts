import { monotonicMs, type RequestRates } from '../../zone/index.ts';

/** The window in which the requests of a key are counted; it begins with the first of them. */
const WINDOW_MS = 1000;

/** A request to count. */
interface Demand {
  readonly key: string;
  readonly cost: number;
  readonly limit: number;
}

/** Counts a request if the limit allows it. `full`: no window in memory has ended; `busy`: it is locked. */
export function take(
  rates: RequestRates,
  { key, cost, limit }: Demand,
  nowMs: number = monotonicMs(),
): 'allow' | 'deny' | 'full' | 'busy' {
  rates.choose(key);
  if (!rates.acquire()) return 'busy';
  try {
    if (!rates.find(nowMs - WINDOW_MS)) return 'full';
    if (nowMs - rates.writtenMs >= WINDOW_MS) {
      rates.writtenMs = nowMs;
      rates.number = 0;
    }
    const total = rates.number + cost;
    if (cost > 0 && total > limit) return 'deny';
    rates.number = total;
    return 'allow';
  } finally {
    rates.release();
  }
}
