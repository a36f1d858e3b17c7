import type { Part } from './actor.ts';

interface Disturbance {
  readonly hits: readonly Part[];
  readonly fromMs: number;
  toMs: number;
}

/** A request that was under way a moment earlier may be affected, and a part that works again needs a moment to be found. */
const BEFORE_MS = 50;
const AFTER_MS = 2_500;

/** Keeps when each part was disturbed, so that a failure can be excused. */
export class Disturbances {
  readonly #list: Disturbance[] = [];

  async during(hits: readonly Part[], act: () => Promise<void>): Promise<void> {
    const disturbance = { hits, fromMs: performance.now(), toMs: Infinity };
    this.#list.push(disturbance);
    try {
      await act();
    } finally {
      disturbance.toMs = performance.now();
    }
  }

  /** Whether one of these parts was disturbed at some time since `sinceMs`. */
  excuse(parts: readonly Part[], sinceMs: number): boolean {
    return this.#list.some(
      ({ hits, fromMs, toMs }) =>
        toMs + AFTER_MS >= sinceMs &&
        fromMs - BEFORE_MS <= performance.now() &&
        hits.some((part) => parts.includes(part)),
    );
  }
}
