/** Transforms take about 30 ms for so much at worst (`sub_filter` with a match at every byte). */
const TURN_BYTES = 131_072;

/** A transform that waits for a later turn. */
interface Waiting {
  readonly bytes: number;
  readonly resolve: () => void;
}

/** Limits what is transformed in one turn of the event loop, for all responses of a worker together. */
export class TurnBudget {
  #leftBytes = TURN_BYTES;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;

  /** Takes bytes of this turn. With a promise they have to wait for theirs, in the order of the calls. */
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
      const { bytes, resolve } = this.#waiting.shift() as Waiting;
      void this.take(bytes);
      resolve();
    }
  };
}
