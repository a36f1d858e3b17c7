/** How often a stream without events sends a comment: proxies close what is silent for a minute. */
const EVERY_MS = 15_000;

/** What a heartbeat sends: a comment, which clients ignore. */
export const COMMENT = ': keep-alive\n\n';

/** One timer for all open streams of a worker; it runs while there are any. */
export class Heartbeat {
  readonly #streams = new Set<{ beat(): void }>();
  #timer: NodeJS.Timeout | undefined;

  /** The number of streams. */
  get size(): number {
    return this.#streams.size;
  }

  /** Adds a stream; gives the function that removes it. */
  add(stream: { beat(): void }): () => void {
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => this.#beat(), EVERY_MS).unref();
    return () => {
      this.#streams.delete(stream);
      if (this.#streams.size === 0) this.close();
    };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #beat(): void {
    for (const stream of this.#streams) stream.beat();
  }
}
