import type { Bench } from './bench.ts';
import { median, spread } from './statistics.ts';

/** A subject of the benchmark; it may give several lines of the table, one per peer. */
export interface Row {
  /** For `--only` and `--profile`. */
  readonly name: string;
  run(bench: Bench): Promise<Finding[]>;
}

/** What a result is held against. */
export interface Goals {
  readonly goal?: number;
  readonly aim?: number;
}

/** `aim` and `pass`: the aim and the goal are reached; `seen`: there is no goal. */
export type Verdict = 'aim' | 'pass' | 'miss' | 'seen' | 'skipped' | 'failed';

/** One line of the table. */
export interface Finding {
  readonly subject: string;
  /** The ratio with its lowest and highest round, or a measured value; empty when the line was skipped. */
  readonly result: string;
  readonly goal: string;
  readonly aim: string;
  readonly verdict: Verdict;
  /** What stands behind the result: requests per second and CPU time per request of both sides. */
  readonly gw: string;
  readonly peer: string;
  /** What a reader must know to judge the result: noise, what bounds it, what to install. */
  readonly note: string;
  readonly measured?: Measured;
}

/** For `--json` and the picture. */
export interface Measured extends Goals {
  readonly value: number;
  readonly lowest: number;
  readonly highest: number;
  readonly unit: 'ratio' | 'MB' | 'KB' | 's' | 'ms';
  readonly details?: unknown;
}

/** A line of which nothing but a fault or an absence is known. */
export function emptyLine(subject: string, verdict: 'skipped' | 'failed', note: string): Finding {
  return { subject, result: '', goal: '', aim: '', verdict, gw: '', peer: '', note };
}

/** At least the goal, better the aim. */
export function judgeAtLeast(value: number, { goal, aim }: Goals): Verdict {
  if (goal === undefined) return 'seen';
  if (value < goal) return 'miss';
  return aim !== undefined && value >= aim ? 'aim' : 'pass';
}

/** At most the goal, better the aim. */
export function judgeAtMost(value: number, { goal, aim }: Goals): Verdict {
  return judgeAtLeast(-value, {
    ...(goal !== undefined && { goal: -goal }),
    ...(aim !== undefined && { aim: -aim }),
  });
}

/** A measured value that is to be small. */
export interface Size extends Goals {
  readonly subject: string;
  readonly values: readonly number[];
  readonly unit: 'MB' | 'KB' | 's' | 'ms';
  readonly peer?: string;
  readonly note?: string;
  readonly details?: unknown;
}

/** A line for the median of the values. */
export function sizeLine({ subject, values, unit, goal, aim, peer = '', note = '', details }: Size): Finding {
  const value = median(values);
  const text = (size: number): string => `${size.toFixed(unit === 'MB' ? 0 : unit === 's' ? 2 : 1)} ${unit}`;
  const atMost = (bound?: number): string => (bound === undefined ? '' : `<= ${text(bound)}`);
  const runs =
    values.length === 1 ? '' : `median of ${values.length}, spread ${(spread(values) * 100).toFixed(0)} %`;
  return {
    subject,
    result: text(value),
    goal: atMost(goal),
    aim: atMost(aim),
    verdict: judgeAtMost(value, { ...(goal !== undefined && { goal }), ...(aim !== undefined && { aim }) }),
    gw: '',
    peer,
    note: [runs, note].filter(Boolean).join('; '),
    measured: {
      ...(goal !== undefined && { goal }),
      ...(aim !== undefined && { aim }),
      value,
      lowest: Math.min(...values),
      highest: Math.max(...values),
      unit,
      details,
    },
  };
}
