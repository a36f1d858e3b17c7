import { madeMsOf, type SealedEntry } from '../stores/index.ts';

/**
 * How much older an entry may be than those before it: nodes know the clock of the store but roughly, and an entry that is sent
 * waits for those of other nodes. Whoever writes into the store without the secret can repeat a genuine entry for so long.
 */
const LIFE_MS = 120_000;

/** The clock of the store, and what the times say at which entries of one stream were sealed. */
export class EntryTimes {
  #storeMs = Date.now();
  #atMs = performance.now();
  #newestMs = 0;

  /** The store has told its clock. */
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

  /** Tells whether the entry is too old to stand behind those that were remembered: it was taken from elsewhere. */
  isPutBack(entry: SealedEntry): boolean {
    // Where the clock of the store was set back, new entries are older than old ones.
    const newestMs = Math.min(this.#newestMs, this.nowMs + LIFE_MS);
    return isOlder(madeMsOf(entry), newestMs);
  }
}

/** Tells whether the first of two times is certainly before the second. */
export function isOlder(madeMs: number, thanMs: number): boolean {
  return madeMs < thanMs - LIFE_MS;
}
