import type { AnyLimit } from './shared.ts';
import { type Fill, REQUEST } from './leaky-bucket.ts';

/**
 * What is left of a limit after a request: a bucket takes its burst and one request more, and is whole again when it is
 * empty.
 */
export function balanceOf({ limit, excess }: Fill) {
  const { milliRequestsPerSecond, burst } = limit;
  const isRefused = excess > burst;
  const requests = Math.floor(burst / REQUEST) + 1;
  const fill = isRefused ? excess - REQUEST : excess;
  const drainMs = ((isRefused ? fill : fill + REQUEST) * 1_000) / milliRequestsPerSecond;
  return {
    name: (limit as AnyLimit).zone,
    limit: requests,
    windowSeconds: Math.ceil((requests * REQUEST) / milliRequestsPerSecond),
    left: isRefused ? 0 : Math.floor((burst - excess) / REQUEST),
    wholeMs: Date.now() + drainMs,
  };
}
