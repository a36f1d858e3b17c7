import type { Transform } from 'node:stream';

/**
 * The output of a transform for one piece. A transform that may enlarge a piece returns an iterable: each part is sent
 * before the next is made.
 */
export type Transformed = Uint8Array | Promise<Uint8Array> | AsyncIterable<Uint8Array>;

/** Transforms the body of one response (gzip, sub_filter …), piece by piece or whole. */
export interface BodyTransform {
  /** Transforms a body that is complete in memory. A transform without this method always works in pieces. */
  whole?(body: Uint8Array): Uint8Array;
  /** May return an empty array if there is nothing to send yet. */
  write(piece: Uint8Array): Transformed;
  /** Returns the rest of the output. */
  end(): Transformed;
  /** Called when the response ended early: frees the transform's resources. */
  close?(): void;
}

/** Decides whether to transform the body of a response. It runs after the header filters. */
export interface BodyFilterOf<X extends FilteredResponse> {
  /** Decides by the status, the response's type and length, and the headers. Has no side effects. */
  wants(x: X): boolean;
  /** May change response headers. The response's length is removed afterwards unless the filter keeps it. */
  open(x: X): BodyTransform;
  /** True if each byte becomes one byte, so that ranges may be cut before the filter. */
  keepsLength?(x: X): boolean;
}

/** The part of an exchange that a filter changes. */
interface FilteredResponse {
  readonly response: { lengthBytes: number };
}

/** Opens the transforms in order: each filter sees the headers that those before it have set. */
export function openTransforms<X extends FilteredResponse>(
  filters: readonly BodyFilterOf<X>[],
  x: X,
): readonly BodyTransform[] {
  const open: BodyTransform[] = [];
  for (const filter of filters) {
    if (!filter.wants(x)) continue;
    const keeps = filter.keepsLength?.(x) === true;
    open.push(filter.open(x));
    if (!keeps) x.response.lengthBytes = -1;
  }
  return open;
}

/** Frees the resources of transforms whose response ended early. */
export function closeTransforms(transforms: readonly BodyTransform[]): void {
  for (const transform of transforms) transform.close?.();
}

/** Flushes an engine that buffers its input to compress it better. */
type Flush = (done: () => void) => void;

/** Passes a body through a zlib stream. Output is produced only as fast as the reader takes it. */
export class EngineTransform implements BodyTransform {
  readonly #engine: Transform;
  readonly #flush: Flush | undefined;
  #fault: Error | undefined = undefined;
  #wake: () => void = () => undefined;

  /** With `flush`, the output of each piece is complete before the next piece is taken. */
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

  /** Yields the engine's output until the engine has taken its input. */
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
