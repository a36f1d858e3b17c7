import type { StoredEntry } from '../stores/index.ts';

/** Entries whose signatures are remembered. */
const MOST_MACS = 1_000;

/** The signatures of the entries that were read last, by counter. */
export class RecentMacs {
  readonly #byCounter = new Map<number, string>();

  at(counter: number): string | undefined {
    return this.#byCounter.get(counter);
  }

  add({ counter, mac }: StoredEntry): void {
    // Reinserted, so that the oldest is the first.
    this.#byCounter.delete(counter);
    this.#byCounter.set(counter, mac);
    if (this.#byCounter.size <= MOST_MACS) return;
    const [oldest] = this.#byCounter.keys();
    this.#byCounter.delete(oldest as number);
  }
}
