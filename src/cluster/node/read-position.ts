import type { StoredEntry, StreamState } from '../stores/index.ts';

/** Maximum entries whose signatures are remembered. */
const MOST_MACS = 1_000;

/**
 * How the store compares with what was read of a stream. `less`: it has lost the last entries; `other`: it has other
 * entries at the same counters; `trimmed`: it has more, but no longer the next one.
 */
type Standing = 'same' | 'more' | 'less' | 'other' | 'trimmed';

/** The position in a stream, signatures that show whether the store still has its entries, and the time of the lag. */
export class ReadPosition {
  /** The counter of the last entry that was read; `undefined`: reading has to begin, or to begin again. */
  counter: number | undefined;
  readonly #macs = new Map<number, string>();
  /** In `performance.now()`. */
  #behindSinceMs: number | undefined = performance.now();
  /** The position when the store was last found to have more. */
  #stuckAt: number | undefined;

  /** Returns the signature of an entry; `undefined` if it was not read lately. */
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

  /** Compares the state of the store, asked for this position. `known`: the birth of the stream that was read, or 0. */
  standing({ counter, oldest, mac, birth }: StreamState, known: number): Standing {
    const position = this.counter ?? 0;
    const readMac = this.macAt(position);
    if (counter < position) return 'less';
    if (position > 0 && known !== 0 && birth !== known) return 'other';
    if (mac !== undefined && readMac !== undefined && mac !== readMac) return 'other';
    if (oldest > position + 1) return 'trimmed';
    return counter > position ? 'more' : 'same';
  }

  /** Called when the store has more, as it may during a read. Returns false if none was read since the last call. */
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

  /** Returns how long there may have been entries that were not read, in ms. */
  lagMs(nowMs: number): number {
    return this.#behindSinceMs === undefined ? 0 : nowMs - this.#behindSinceMs;
  }
}
