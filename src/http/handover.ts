/** Passes pieces of a body from a producer to a consumer, one at a time. */
export class Handover {
  #waiting: Uint8Array[] = [];
  #taken: (() => void)[] = [];
  #ended = false;
  #wake: () => void = () => undefined;

  /** Resolves when the piece has been consumed or the consumer has stopped. The bytes must not change before that. */
  give(piece: Uint8Array): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(piece);
      this.#taken.push(resolve);
      this.#wake();
    });
  }

  /** Ends the sequence. Pieces that are still queued are delivered. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** Stops the consumer: queued pieces are dropped. */
  close(): void {
    this.end();
    this.#waiting = [];
    for (const resolve of this.#taken) resolve();
    this.#taken = [];
  }

  /** Yields the pieces; may be iterated once. A piece counts as consumed when the next one is requested. */
  async *pieces(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        const piece = this.#waiting.shift();
        if (piece) {
          yield piece;
          this.#taken.shift()?.();
        } else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.close();
    }
  }
}
