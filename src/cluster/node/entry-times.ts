import { madeMsOf, type SealedEntry } from '../stores/index.ts';

/**
 * How much older an entry may be than those before it. Nodes know the clock of the store only roughly, and entries of
 * other nodes may be stored first. For this time, a writer without the secret can repeat a genuine entry.
 */
const LIFE_MS = 120_000;

/** The clock of the store, and the latest time at which an entry of one stream was sealed. */
export class EntryTimes {
  #storeMs = Date.now();
  #atMs = performance.now();
  #newestMs = 0;

  /** Sets the clock of the store. */
  told(nowMs: number): void {
    this.#storeMs = nowMs;
    this.#atMs = performance.now();
  }

  get nowMs(): number {
    return this.#storeMs + (performance.now() - this.#atMs);
  }

  remember(entry: SealedEntry): void {
    this.#newestMs = Math.max(this.#newestMs, madeMsOf(entry));
  }

  /** Returns whether the entry is too old to follow the remembered ones: somebody has put it back. */
  isPutBack(entry: SealedEntry): boolean {
    // If the clock of the store was set back, new entries have earlier times than old ones.
    const newestMs = Math.min(this.#newestMs, this.nowMs + LIFE_MS);
    return isOlder(madeMsOf(entry), newestMs);
  }
}

/** Returns whether the first of two times is certainly before the second. */
export function isOlder(madeMs: number, thanMs: number): boolean {
  return madeMs < thanMs - LIFE_MS;
}
