const UNITS_MS: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A setting of PostgreSQL that is a duration: `50ms`, `1.5 min`, milliseconds without a unit. */
export function durationMs(text: string): number | undefined {
  const [, amount, unit = 'ms'] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)?\s*$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  return amount === undefined || unitMs === undefined ? undefined : Math.round(Number(amount) * unitMs);
}
