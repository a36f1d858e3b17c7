import { monotonicMs } from './clock.ts';

/**
 * The seat of one thread that does for all threads what must be done once: probing peers, refreshing lists. It is two
 * words of a zone: the id of its holder + 1 (0: nobody), and when the holder last used it. The kind of the zone clears it
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
   * Tells whether this thread holds the seat. Takes it if nobody does, or if its holder has not called this for
   * `silenceMs`, because it hangs: it then finds the seat taken when it goes on. To be called at least twice in that time.
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
