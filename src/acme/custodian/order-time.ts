import { AcmeFault } from '../protocol/index.ts';

/** The longest time of an order, whatever the number of its names. */
const MOST_MS = 1_800_000;

/** What is left of the time of one order. Each step has a bound of its own, but an order may have hundreds of steps. */
export class OrderTime {
  readonly #clock: () => number;
  readonly #mostMs: number;
  readonly #endMs: number;

  /** `extraMs`: what the configuration has it wait; `nowMs`: a monotonic clock. */
  constructor({
    extraMs,
    nowMs = () => performance.now(),
  }: {
    readonly extraMs: number;
    readonly nowMs?: (() => number) | undefined;
  }) {
    this.#clock = nowMs;
    this.#mostMs = MOST_MS + extraMs;
    this.#endMs = nowMs() + this.#mostMs;
  }

  /** Returns how many ms are left. Throws an `AcmeFault` if none are. */
  left(): number {
    const leftMs = this.#endMs - this.#clock();
    if (leftMs > 0) return leftMs;
    const minutes = Math.round(this.#mostMs / 60_000);
    throw new AcmeFault(`the order is not done after ${minutes} minutes`, { kind: 'undecided' });
  }
}
