import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long a compile holds the thread: on a reload, requests are served meanwhile. */
const TURN_MS = 10;

/** Divides a long compile into turns of the event loop. */
export class Turns {
  #sinceMs = performance.now();

  /** To be awaited now and then; waits only where the turn has lasted long enough. */
  async take(): Promise<void> {
    if (performance.now() - this.#sinceMs < TURN_MS) return;
    await nextTurn();
    this.#sinceMs = performance.now();
  }
}
