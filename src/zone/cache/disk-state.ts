import type { Memory } from '../header.ts';
import { FAILING_DOUBLE, PAUSED_DOUBLE } from './kind.ts';

/** Whether the disk of a cache takes what is written, as all threads know it. Times are in milliseconds since the epoch. */
export class DiskState {
  readonly #f64: Float64Array;

  constructor({ f64 }: Pick<Memory, 'f64'>) {
    this.#f64 = f64;
  }

  /** Nothing is stored before this time. */
  get pausedUntilMs(): number {
    return this.#f64[PAUSED_DOUBLE] as number;
  }

  /** Since when writing has failed; 0: it succeeds. */
  get failingSinceMs(): number {
    return this.#f64[FAILING_DOUBLE] as number;
  }

  failed(nowMs: number): void {
    if (this.failingSinceMs === 0) this.#f64[FAILING_DOUBLE] = nowMs;
  }

  succeeded(): void {
    if (this.failingSinceMs !== 0) this.#f64[FAILING_DOUBLE] = 0;
  }

  pauseUntil(timeMs: number): void {
    this.#f64[PAUSED_DOUBLE] = timeMs;
  }
}
