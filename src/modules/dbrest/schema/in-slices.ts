import { setImmediate as nextTurn } from 'node:timers/promises';

/** Far below what anybody notices who waits for the same thread. */
const SLICE_MS = 2;

/** Runs work that is done step by step, with turns for all others in between. Rejects with what it throws. */
export async function inSlices<T>(work: Iterator<unknown, T>): Promise<T> {
  for (;;) {
    const endMs = performance.now() + SLICE_MS;
    do {
      const step = work.next();
      if (step.done) return step.value;
    } while (performance.now() < endMs);
    await nextTurn();
  }
}
