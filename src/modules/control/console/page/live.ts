import { DATA_PATHS } from '../contract.ts';
import type { Moment, Overview } from '../contract.ts';
import { pause, read } from './api.ts';

const EVERY_MS = 2_000;
const MAX_MOMENTS = 150;
/** Workers look at the same counters at times of their own. */
const LEAST_APART_MS = 1_000;

/** What the page knows: the last overview, with the moments of all answers before it. */
export type Seen = Overview;

type Listener = (seen: Seen) => void;

/** Asks for the overview every two seconds, as long as the page is looked at. */
export class Live {
  readonly #listeners = new Set<Listener>();
  readonly #failed: (message: string | undefined) => void;
  #moments: readonly Moment[] = [];
  #seen: Seen | undefined;

  constructor(failed: (message: string | undefined) => void) {
    this.#failed = failed;
  }

  /** Calls the listener now, if something is known, and after every answer. Gives the end of it. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#seen) listener(this.#seen);
    return () => void this.#listeners.delete(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!document.hidden) await this.#ask();
      await pause(EVERY_MS, signal);
    }
  }

  async #ask(): Promise<void> {
    try {
      const since = this.#moments.at(-1)?.atMs ?? 0;
      const overview = await read<Overview>(DATA_PATHS.overview, { since });
      this.#add(overview);
      this.#seen = { ...overview, moments: this.#moments };
      for (const listener of this.#listeners) listener(this.#seen);
      this.#failed(undefined);
    } catch (error) {
      this.#failed((error as Error).message);
    }
  }

  #add({ moments, gateway }: Overview): void {
    const isAnother = this.#seen !== undefined && this.#seen.gateway.startedMs !== gateway.startedMs;
    const all = isAnother ? [] : [...this.#moments];
    for (const moment of moments) {
      const last = all.at(-1);
      if (!last || moment.atMs - last.atMs >= LEAST_APART_MS) all.push(moment);
    }
    this.#moments = all.slice(-MAX_MOMENTS);
  }
}
