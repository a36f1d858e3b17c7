const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** Bounds of the integers that a store keeps. */
export const INT64 = { min: INT64_MIN, max: INT64_MAX } as const;

/** A signed 64-bit integer exactly as Redis reads one: no sign `+`, no leading zero, no blanks (redis util.c, string2ll). */
export function parseInt64(bytes: Buffer): bigint | undefined {
  if (bytes.length === 0 || bytes.length > 20) return undefined;
  const text = bytes.toString('latin1');
  if (!/^(?:0|-?[1-9]\d*)$/.test(text)) return undefined;
  const value = BigInt(text);
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
}
