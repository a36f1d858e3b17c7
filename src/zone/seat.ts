const [startSeconds, startNanoseconds] = process.hrtime();
const OFFSET_MS = startSeconds * 1000 + startNanoseconds / 1e6 - performance.now();

/** Returns the time of a monotonic clock that is the same in all threads of the process, in ms. */
export function monotonicMs(): number {
  return OFFSET_MS + performance.now();
}

/**
 * A seat for work that one thread does for all threads: probing peers, refreshing lists. It is two words of a zone: the
 * id of the holder + 1 (0: free), and the time when the holder last used it. The kind of the zone clears it
 * (`clearSeat`) when a thread has exited.
 */
export class Seat {
  readonly #words: Int32Array;
  readonly #at: number;
  readonly #mine: number;
  readonly #nowMs: () => number;

  constructor(
    words: Int32Array,
    { at, threadId, nowMs = monotonicMs }: { at: number; threadId: number; nowMs?: () => number },
  ) {
    this.#words = words;
    this.#at = at;
    this.#mine = threadId + 1;
    this.#nowMs = nowMs;
  }

  /**
   * Returns whether this thread holds the seat. Takes the seat if it is free, or if its holder has not called this for
   * `silenceMs` because it hangs; when that thread goes on, it has lost the seat. To be called at least twice in that
   * time.
   */
  hold(silenceMs: number): boolean {
    const now = Math.trunc(this.#nowMs()) | 0;
    const holder = Atomics.load(this.#words, this.#at);
    const silence = (now - Atomics.load(this.#words, this.#at + 1)) | 0;
    const isFree = holder === 0 || holder === this.#mine || silence > silenceMs;
    if (!isFree || Atomics.compareExchange(this.#words, this.#at, holder, this.#mine) !== holder)
      return false;
    Atomics.store(this.#words, this.#at + 1, now);
    return true;
  }

  /** Gives up the seat if this thread holds it. */
  leave(): void {
    Atomics.compareExchange(this.#words, this.#at, this.#mine, 0);
  }
}

/** Gives up the seat of a thread that has exited. */
export function clearSeat(words: Int32Array, at: number, threadId: number): void {
  Atomics.compareExchange(words, at, threadId + 1, 0);
}
