/** Transforms take at most about 30 ms for this many bytes (`sub_filter` with a match at every byte). */
const TURN_BYTES = 131_072;

/** A transform that waits for a later turn. */
interface WaitingTransform {
  readonly bytes: number;
  readonly resolve: () => void;
}

/** Limits the bytes that a worker transforms in one turn of the event loop, for all its responses together. */
export class TurnBudget {
  #leftBytes = TURN_BYTES;
  readonly #waiting: WaitingTransform[] = [];
  #isRunning = false;

  /** Takes bytes of this turn's budget. A promise resolves in a later turn with room, in the order of calls. */
  take(bytes: number): undefined | Promise<void> {
    if (!this.#isRunning) setImmediate(this.#turn);
    this.#isRunning = true;
    if (this.#leftBytes <= 0) return new Promise((resolve) => this.#waiting.push({ bytes, resolve }));
    this.#leftBytes -= bytes;
    return undefined;
  }

  readonly #turn = (): void => {
    this.#isRunning = false;
    this.#leftBytes = TURN_BYTES;
    while (this.#leftBytes > 0 && this.#waiting.length > 0) {
      const { bytes, resolve } = this.#waiting.shift() as WaitingTransform;
      void this.take(bytes);
      resolve();
    }
  };
}
