import type { FailingLocation, Range } from './ranges.ts';
import type { Sample } from './timeline.ts';

/** A location that has served that long without a failure does not fail any more. */
const RECOVERED_MS = 60_000;

/**
 * Returns the locations with responses of 5xx in a range, those with the greatest share first. `samples` are of all times, oldest first; the
 * last one is the present.
 */
export function failingLocations(
  samples: readonly Sample[],
  { seconds, nowMs }: Pick<Range, 'seconds'> & { readonly nowMs: number },
): readonly FailingLocation[] {
  const last = samples.at(-1);
  const base = samples.findLast(({ atMs }) => atMs <= nowMs - seconds * 1_000) ?? samples[0];
  if (!last || !base) return [];
  return [...last.locations]
    .flatMap(([key, { requests, errors }]) => {
      const before = base.locations.get(key) ?? { requests: 0, errors: 0 };
      const failed = errors - before.errors;
      if (failed <= 0) return [];
      const [server = '', location = ''] = key.split('\n');
      return [
        {
          server,
          location,
          requests: requests - before.requests,
          errors: failed,
          ...timesOf(key, samples),
        },
      ];
    })
    .toSorted((a, b) => b.errors / b.requests - a.errors / a.requests || b.errors - a.errors);
}

/** Returns since when a location has failed, and when it last did. */
function timesOf(key: string, samples: readonly Sample[]): Pick<FailingLocation, 'sinceMs' | 'lastMs'> {
  let sinceMs: number | undefined;
  let lastMs = 0;
  for (const [index, sample] of samples.slice(1).entries()) {
    const before = samples[index] as Sample;
    const from = before.locations.get(key) ?? { requests: 0, errors: 0 };
    const to = sample.locations.get(key) ?? from;
    if (to.errors > from.errors) {
      sinceMs ??= before.atMs;
      lastMs = sample.atMs;
    } else if (to.requests > from.requests && sample.atMs - lastMs >= RECOVERED_MS) {
      sinceMs = undefined;
    }
  }
  return { lastMs, ...(sinceMs !== undefined && { sinceMs }) };
}
