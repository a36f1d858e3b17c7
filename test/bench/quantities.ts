/** `98.1 k/s`. */
export function rateText(perSecond: number): string {
  return perSecond < 1_000 ? `${significant(perSecond)}/s` : `${significant(perSecond / 1_000)} k/s`;
}

/** `10,000`. */
export function countText(count: number): string {
  return count.toLocaleString('en');
}

/** `10.2 us`, or `1.02 ms` from a thousand on. */
export function microseconds(seconds: number): string {
  const us = seconds * 1e6;
  return us < 1_000 ? `${significant(us)} us` : `${significant(us / 1_000)} ms`;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

/** `4 KB`, `1 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${bytes / 1_024} KB` : `${bytes / 1_048_576} MB`;
}

/** Three digits that mean something. */
function significant(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value.toFixed(value >= 10 ? 1 : 2);
}
