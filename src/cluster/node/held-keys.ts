import { type KeyWrite, madeMsOf, type SealedEntry } from '../stores/index.ts';
import { isOlder } from './entry-times.ts';

/** Maximum keys that are remembered: the last ones written. */
const MOST_KEYS = 100_000;

interface HeldKey {
  readonly isDeleted: boolean;
  readonly mac: string;
  readonly madeMs: number;
}

/** The entry by which this node has each key. If the store gives an older one later, somebody has put it back. */
export class HeldKeys {
  readonly #keys = new Map<string, HeldKey>();

  hold({ key, value }: Pick<KeyWrite, 'key' | 'value'>, entry: SealedEntry): void {
    // Reinserted, so that the oldest is the first.
    this.#keys.delete(key);
    this.#keys.set(key, { isDeleted: value === undefined, mac: entry.mac, madeMs: madeMsOf(entry) });
    if (this.#keys.size <= MOST_KEYS) return;
    const [oldest] = this.#keys.keys();
    this.#keys.delete(oldest as string);
  }

  isDeleted(key: string): boolean {
    return this.#keys.get(key)?.isDeleted === true;
  }

  /** Returns whether the entry is older than the held one. `wasHere`: it, or a later one of its origin, was read. */
  isOlder(key: string, entry: SealedEntry, wasHere: boolean): boolean {
    const held = this.#keys.get(key);
    if (!held || held.mac === entry.mac) return false;
    const madeMs = madeMsOf(entry);
    return isOlder(madeMs, held.madeMs) || (wasHere && madeMs < held.madeMs);
  }
}
