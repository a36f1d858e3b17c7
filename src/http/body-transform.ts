import type { Transform } from 'node:stream';

/** What a piece becomes. In several pieces where it may grow: each goes out before the next is asked for. */
export type Transformed = Uint8Array | Promise<Uint8Array> | AsyncIterable<Uint8Array>;

/** Turns the body of one response into another one (gzip, sub_filter …), piece by piece or whole. */
export interface BodyTransform {
  /** The whole body at once, where it is there already; absent: always in pieces. */
  whole?(body: Uint8Array): Uint8Array;
  /** May give an empty array: nothing to send yet. */
  write(piece: Uint8Array): Transformed;
  /** What is left. */
  end(): Transformed;
  /** The response ended early: free what it holds. */
  close?(): void;
}

/** What one piece is followed by, for engines that keep back what they could still pack better. */
type Flush = (done: () => void) => void;

/** Passes a body through one of zlib's engines; no more of it is made than the reader takes. */
export class EngineTransform implements BodyTransform {
  readonly #engine: Transform;
  readonly #flush: Flush | undefined;
  #fault: Error | undefined = undefined;
  #wake: () => void = () => undefined;

  /** `flush` lets each piece come out as soon as it went in. */
  constructor(engine: Transform, flush?: Flush) {
    this.#engine = engine;
    this.#flush = flush;
    engine.on('readable', () => this.#wake());
    engine.on('end', () => this.#wake());
    engine.on('error', (fault: Error) => {
      this.#fault = fault;
      this.#wake();
    });
  }

  write(piece: Uint8Array): AsyncIterable<Uint8Array> {
    return this.#read((taken) => {
      this.#engine.write(piece, this.#flush ? undefined : taken);
      this.#flush?.(taken);
    });
  }

  end(): AsyncIterable<Uint8Array> {
    return this.#read((taken) => {
      this.#engine.once('end', taken);
      this.#engine.end();
    });
  }

  close(): void {
    this.#engine.destroy();
    this.#wake();
  }

  /** What the engine gives until it has taken what it was fed. */
  async *#read(feed: (taken: () => void) => void): AsyncGenerator<Uint8Array, void> {
    let isTaken = false;
    feed(() => {
      isTaken = true;
      this.#wake();
    });
    for (;;) {
      if (this.#fault) throw this.#fault;
      if (this.#engine.destroyed) return;
      const made = this.#engine.read() as Buffer | null;
      if (made !== null) yield made;
      else if (isTaken) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
