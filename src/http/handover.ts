/** Hands pieces from one that makes them to one that takes them, one at a time. */
export class Handover {
  #waiting: Uint8Array[] = [];
  #taken: (() => void)[] = [];
  #ended = false;
  #wake: () => void = () => undefined;

  /** Resolves when the piece is taken, or nobody will take it any more; the bytes must stay until then. */
  give(piece: Uint8Array): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(piece);
      this.#taken.push(resolve);
      this.#wake();
    });
  }

  /** No more pieces come; those that wait are still taken. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** Nobody takes pieces any more. */
  close(): void {
    this.end();
    this.#waiting = [];
    for (const resolve of this.#taken) resolve();
    this.#taken = [];
  }

  /** The pieces, to be read once. A piece counts as taken when the next one is asked for. */
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
