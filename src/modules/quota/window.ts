/** The time in which requests are counted. Windows begin at fixed times in UTC; a week begins on Monday. */
export type Window = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month';

const SECOND = 1_000;
const DAY = 86_400 * SECOND;
/** The first Monday after the epoch, which was a Thursday. */
const FIRST_MONDAY = 4 * DAY;

const LENGTHS = {
  second: SECOND,
  minute: 60 * SECOND,
  hour: 3_600 * SECOND,
  day: DAY,
  week: 7 * DAY,
} as const;

export const WINDOWS: readonly Window[] = ['second', 'minute', 'hour', 'day', 'week', 'month'];

/** The begin and the end of a window, in milliseconds since the epoch. */
export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

/** Returns the period of a window that a time is in. */
export function periodAt(window: Window, nowMs: number): Period {
  if (window === 'month') {
    const now = new Date(nowMs);
    const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
    return { startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) };
  }
  const length = LENGTHS[window];
  const offset = window === 'week' ? FIRST_MONDAY : 0;
  const startMs = Math.floor((nowMs - offset) / length) * length + offset;
  return { startMs, endMs: startMs + length };
}
