import { setImmediate as nextTurn } from 'node:timers/promises';
import { PoolRefusal } from '../../postgres/index.ts';

/** Yields to the event loop between two pieces of work. Rejects when the work is no longer needed. */
export type Turn = () => Promise<void>;

/** Yields for work on behalf of one client: rejects with `PoolRefusal` once that client has gone. */
export function turnsFor(client: { readonly aborted: boolean }): Turn {
  return async () => {
    await nextTurn();
    if (client.aborted) throw new PoolRefusal('abandoned');
  };
}

/** Longest time, in milliseconds, between two yields to the event loop. */
const SLICE_MS = 2;

/** Runs a generator to its end and yields to the event loop every 2 ms. Rejects with the generator's error. */
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
