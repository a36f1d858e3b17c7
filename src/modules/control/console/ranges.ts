/*
 * The times that the overview can show: both the console's page and its handlers are compiled against this file.
 */

/** A time up to now. Longer ones have coarser steps, so that each takes about the same memory. */
export interface Range {
  /** The value of `?range=`. */
  readonly name: string;
  readonly label: string;
  readonly words: string;
  readonly seconds: number;
  readonly stepMs: number;
  /** Labels of the axis, in parts of `unitSeconds` before now. */
  readonly marks: readonly number[];
  readonly unit: 'min' | 'h';
  readonly unitSeconds: number;
}

const MINUTES = { unit: 'min', unitSeconds: 60 } as const;
const HOURS = { unit: 'h', unitSeconds: 3_600 } as const;

export const SHORTEST_RANGE: Range = {
  ...MINUTES,
  name: '5m',
  label: '5 min',
  words: 'the last 5 minutes',
  seconds: 300,
  stepMs: 2_000,
  marks: [4, 3, 2, 1, 0],
};

/** The shortest first. */
export const RANGES: readonly Range[] = [
  SHORTEST_RANGE,
  {
    ...MINUTES,
    name: '1h',
    label: '1 h',
    words: 'the last hour',
    seconds: 3_600,
    stepMs: 20_000,
    marks: [45, 30, 15, 0],
  },
  {
    ...HOURS,
    name: '6h',
    label: '6 h',
    words: 'the last 6 hours',
    seconds: 21_600,
    stepMs: 120_000,
    marks: [5, 4, 3, 2, 1, 0],
  },
  {
    ...HOURS,
    name: '24h',
    label: '24 h',
    words: 'the last 24 hours',
    seconds: 86_400,
    stepMs: 480_000,
    marks: [18, 12, 6, 0],
  },
];

/** A location with responses of 5xx in the range. */
export interface FailingLocation {
  readonly server: string;
  readonly location: string;
  /** In the range, as far as there is history. */
  readonly requests: number;
  readonly errors: number;
  /** When it began to fail; absent if it has served without a failure for a minute since. */
  readonly sinceMs?: number;
  /** When a failure was last noticed. */
  readonly lastMs: number;
}

/** Totals since the start. */
export interface Moment {
  readonly atMs: number;
  /** Responses by class: 1xx to 5xx. */
  readonly classes: readonly number[];
  /** Histogram of durations, not cumulative. */
  readonly buckets: readonly number[];
  readonly bytes: number;
  /** Currently open. */
  readonly connections: number;
}
