import type { Bench } from './bench.ts';

/** One subject of the benchmark; it may give several lines of the table, one per peer. */
export interface Row {
  /** For `--only` and `--profile`. */
  readonly name: string;
  run(bench: Bench): Promise<Finding[]>;
}

/** One line of the table. */
export interface Finding {
  readonly subject: string;
  /** The ratio, or for memory and start the measured value; empty when the line was skipped. */
  readonly result: string;
  readonly goal: string;
  readonly verdict: 'pass' | 'miss' | 'skipped' | 'failed';
  /** What a reader must know to judge the result: spread, noise, what to install. */
  readonly note: string;
  /** Absolute numbers, for `--json` only. */
  readonly measured?: unknown;
}
