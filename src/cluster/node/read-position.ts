import type { StoredEntry, StreamState } from '../stores/index.ts';

/** Entries whose signatures are remembered. */
const MOST_MACS = 1_000;

/**
 * What the store has of a stream, beside what was read of it: the same; more; less, since it has lost the last entries; other entries
 * at the same counters; or more, but not the next one any more.
 */
type Standing = 'same' | 'more' | 'less' | 'other' | 'trimmed';

/** Up to where a stream was read, by which entries the store is known again, and since when there is more to read. */
export class ReadPosition {
  /** The counter of the last entry that was read; `undefined`: reading has to begin (anew). */
  counter: number | undefined;
  readonly #macs = new Map<number, string>();
  /** In `performance.now()`. */
  #behindSinceMs: number | undefined = performance.now();
  /** The position when the store was last found to have more. */
  #stuckAt: number | undefined;

  /** The signature of an entry that was read lately. */
  macAt(counter: number): string | undefined {
    return this.#macs.get(counter);
  }

  remember({ counter, mac }: StoredEntry): void {
    // Reinserted, so that the oldest is the first.
    this.#macs.delete(counter);
    this.#macs.set(counter, mac);
    if (this.#macs.size <= MOST_MACS) return;
    const [oldest] = this.#macs.keys();
    this.#macs.delete(oldest as number);
  }

  /** `state` is that of the entry at this position; `known` the birth of the stream that was read, 0 if it was not told. */
  standing({ counter, oldest, mac, birth }: StreamState, known: number): Standing {
    const position = this.counter ?? 0;
    const readMac = this.macAt(position);
    if (counter < position) return 'less';
    if (position > 0 && known !== 0 && birth !== known) return 'other';
    if (mac !== undefined && readMac !== undefined && mac !== readMac) return 'other';
    if (oldest > position + 1) return 'trimmed';
    return counter > position ? 'more' : 'same';
  }

  /** The store has more. That is usual once, while a read is on its way. False: nothing was read since the last call. */
  isReading(): boolean {
    const isStuck = this.#stuckAt === this.counter;
    this.#stuckAt = this.counter;
    if (isStuck) this.isBehind();
    return !isStuck;
  }

  isBehind(): void {
    this.#behindSinceMs ??= performance.now();
  }

  hasAll(): void {
    this.#behindSinceMs = undefined;
  }

  /** How long there may have been entries that were not read. */
  lagMs(nowMs: number): number {
    return this.#behindSinceMs === undefined ? 0 : nowMs - this.#behindSinceMs;
  }
}
