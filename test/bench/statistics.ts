/** The middle value; for an even number of values the mean of the two in the middle. NaN for none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Distance of the quartiles in parts of the median: half of the values lie that close together. */
export function spread(values: readonly number[]): number {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values);
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * part;
  const [below = NaN, above = NaN] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return below + (above - below) * (place - Math.floor(place));
}
