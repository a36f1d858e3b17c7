import type { Moment } from '../ranges.ts';

/**
 * Returns the value below which a share `q` of all values lies, by linear interpolation within its bucket (as
 * Prometheus' `histogram_quantile`). Above the last bound it is that bound. `undefined` without values.
 */
export function quantile(
  buckets: readonly number[],
  bounds: readonly number[],
  q: number,
): number | undefined {
  const count = buckets.reduce((sum, inBucket) => sum + inBucket, 0);
  if (count <= 0) return undefined;
  let rest = q * count;
  for (const [index, upper] of bounds.entries()) {
    const inBucket = buckets[index] ?? 0;
    const lower = bounds[index - 1] ?? 0;
    if (rest <= inBucket && inBucket > 0) return lower + ((upper - lower) * rest) / inBucket;
    rest -= inBucket;
  }
  return bounds.at(-1);
}

/** The rates between two moments. */
export interface Pace {
  readonly atMs: number;
  /** Responses per second by class: 1xx to 5xx. */
  readonly classes: readonly number[];
  readonly requests: number;
  readonly bytes: number;
  readonly connections: number;
  readonly p50: number | undefined;
  readonly p95: number | undefined;
  readonly p99: number | undefined;
}

/** Latencies are taken over as much time, to smooth out single requests. */
const SMOOTHED_MS = 10_500;

/** Returns the rates between moments. */
export function paces(moments: readonly Moment[], bounds: readonly number[]): readonly Pace[] {
  let farIndex = 0;
  return moments.slice(1).map((moment, index) => {
    const before = moments[index] as Moment;
    while (farIndex < index && moment.atMs - (moments[farIndex] as Moment).atMs > SMOOTHED_MS) farIndex++;
    const far = moments[farIndex] as Moment;
    const seconds = Math.max((moment.atMs - before.atMs) / 1000, 0.001);
    const classes = moment.classes.map((total, at) => (total - (before.classes[at] ?? 0)) / seconds);
    const buckets = difference(moment.buckets, far.buckets);
    return {
      atMs: moment.atMs,
      classes,
      requests: sum(classes),
      bytes: (moment.bytes - before.bytes) / seconds,
      connections: moment.connections,
      p50: quantile(buckets, bounds, 0.5),
      p95: quantile(buckets, bounds, 0.95),
      p99: quantile(buckets, bounds, 0.99),
    };
  });
}

function difference(after: readonly number[], before: readonly number[]): readonly number[] {
  return after.map((total, index) => total - (before[index] ?? 0));
}

export function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
