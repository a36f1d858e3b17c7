import type { KeptEntries, RequestRates } from '../../zone/index.ts';
import { periodAt, type Window } from './window.ts';

/** The counts of a zone as the file of `state` has them: `"key":[number, time in ms]`. Windows that are over are left out. */
export function keptCounts(rates: RequestRates, window: Window): KeptEntries {
  return {
    get revision() {
      return rates.revision;
    },
    get isEmpty() {
      return rates.entries === 0;
    },
    scan(cursor) {
      const { startMs } = periodAt(window, Date.now());
      const { counts, next } = locked(rates, () => rates.scan(cursor));
      const current = counts.filter(({ writtenMs }) => writtenMs >= startMs);
      return {
        entries: current.map(({ key, number, writtenMs }) => [key, [number, writtenMs]] as const),
        next,
      };
    },
    add(key, kept) {
      const [number, writtenMs] = (Array.isArray(kept) ? kept : []) as readonly unknown[];
      if (!isCount(number) || !isCount(writtenMs) || key === '') return 'malformed';
      const { startMs, endMs } = periodAt(window, Date.now());
      if (writtenMs < startMs || writtenMs >= endMs) return 'done';
      rates.choose(key);
      return locked(rates, () => {
        // A key that is here has been counted since, or comes from the file as well.
        if (!rates.find(-Infinity)) return 'no room';
        rates.number = number;
        rates.writtenMs = writtenMs;
        return 'done';
      });
    },
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function locked<T>(rates: RequestRates, act: () => T): T {
  if (!rates.acquire()) throw new Error('the zone is busy');
  try {
    return act();
  } finally {
    rates.release();
  }
}
