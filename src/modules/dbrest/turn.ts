import { setImmediate as nextTurn } from 'node:timers/promises';
import { PoolRefusal } from '../../pool.ts';

/** Between two pieces of work others have their turn. Rejects once nobody waits for the work any more. */
export type Turn = () => Promise<void>;

/** The turns of work that is done for one client: it ends with the piece under way when the client leaves. */
export function turnsFor(client: { readonly aborted: boolean }): Turn {
  return async () => {
    await nextTurn();
    if (client.aborted) throw new PoolRefusal('abandoned');
  };
}

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
