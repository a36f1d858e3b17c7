/**
 * The value below which a share `q` of all counted values lies, by linear interpolation inside its bucket (as Prometheus'
 * `histogram_quantile`). Beyond the last bound it is that bound. `undefined` without values.
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
