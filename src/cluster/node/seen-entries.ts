import type { SealedEntry } from '../stores/index.ts';

/** Maximum incarnations of one node that are remembered: the last ones used. */
const MOST_INCARNATIONS = 64;

/**
 * The last sequence of each node and incarnation. A node sends in the order of its sequences, and repeats only entries
 * that the store has lost. An entry that is not beyond the last sequence has therefore been read before.
 */
export class SeenEntries {
  readonly #byOrigin = new Map<string, Map<string, number>>();

  has({ origin, incarnation, sequence }: SealedEntry): boolean {
    return sequence <= (this.#byOrigin.get(origin)?.get(incarnation) ?? 0);
  }

  add({ origin, incarnation, sequence }: SealedEntry): void {
    const incarnations = this.#byOrigin.get(origin) ?? new Map<string, number>();
    this.#byOrigin.set(origin, incarnations);
    const last = incarnations.get(incarnation) ?? 0;
    // Reinserted, so that the order of the map is that of the last use.
    incarnations.delete(incarnation);
    incarnations.set(incarnation, Math.max(last, sequence));
    if (incarnations.size > MOST_INCARNATIONS) {
      const [oldest] = incarnations.keys();
      incarnations.delete(oldest as string);
    }
  }
}
