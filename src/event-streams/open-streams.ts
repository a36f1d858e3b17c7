import type { Exchange } from '../http/index.ts';

/** The open streams of one configuration. They have no end of their own, so they are ended when the configuration retires. */
export class OpenStreams {
  readonly #streams = new Set<{ close(): void }>();
  readonly #retiring: AbortSignal;

  constructor(retiring: AbortSignal) {
    this.#retiring = retiring;
    retiring.addEventListener('abort', () => this.#close(), { once: true });
  }

  get size(): number {
    return this.#streams.size;
  }

  add(stream: { close(): void }, x: Exchange): void {
    if (this.#retiring.aborted) return stream.close();
    this.#streams.add(stream);
    x.onEnd(() => {
      this.#streams.delete(stream);
      stream.close();
    });
  }

  #close(): void {
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
  }
}
