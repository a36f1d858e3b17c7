import type { BodyTransform, Transformed } from './body-transform.ts';

/** A response whose body comes in pieces. */
export interface ResponseStream {
  /** False: wait for `drained` before the next write. The bytes of a chunk must stay as they are until then. */
  write(chunk: string | Uint8Array): boolean;
  drained(): Promise<void>;
  end(): void;
}

const PIECE_BYTES = 65_536;

/** Writes a body that is there, as the client takes it, and ends the stream. */
export async function writePieces(
  stream: ResponseStream,
  bytes: Uint8Array,
  isGone: () => boolean,
): Promise<void> {
  for (let at = 0; at < bytes.byteLength && !isGone(); at += PIECE_BYTES) {
    if (!stream.write(bytes.subarray(at, at + PIECE_BYTES))) await stream.drained();
  }
  stream.end();
}

/** Beyond this a body is transformed piece by piece, so that others get their turn: level 6 of gzip takes 2 ms for it. */
const MOST_TRANSFORMED_BYTES = 131_072;

/** A body as it comes out of all transforms; `undefined` where it has to go through them in pieces. */
export function transformWhole(
  bytes: Uint8Array,
  transforms: readonly BodyTransform[],
): Uint8Array | undefined {
  if (transforms.length === 0) return bytes;
  if (bytes.byteLength > MOST_TRANSFORMED_BYTES || !transforms.every(({ whole }) => whole)) return undefined;
  return transforms.reduce((body, transform) => transform.whole?.(body) ?? body, bytes);
}

/** Transforms what is written on its way to the client. Pieces keep their order, also where a transform waits. */
export class FilteredStream implements ResponseStream {
  readonly #inner: ResponseStream;
  readonly #transforms: readonly BodyTransform[];
  readonly #fail: (error: unknown) => void;
  #busy: Promise<void> | undefined = undefined;

  /** `fail` hears the error of a transform: the head is out, so the connection can only be cut. */
  constructor(inner: ResponseStream, transforms: readonly BodyTransform[], fail: (error: unknown) => void) {
    this.#inner = inner;
    this.#transforms = transforms;
    this.#fail = fail;
  }

  write(chunk: string | Uint8Array): boolean {
    const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    return this.#run(() => this.#pass(piece, 0));
  }

  async drained(): Promise<void> {
    while (this.#busy) await this.#busy;
    await this.#inner.drained();
  }

  end(): void {
    this.#run(() => this.#finish(0));
  }

  /** At once where nothing waits, else behind what does. */
  #run(step: () => boolean | Promise<boolean>): boolean {
    if (this.#busy) {
      this.#wait(this.#busy.then(step));
      return false;
    }
    try {
      const outcome = step();
      if (typeof outcome === 'boolean') return outcome;
      this.#wait(outcome);
    } catch (error) {
      this.#fail(error);
    }
    return false;
  }

  #wait(step: Promise<boolean>): void {
    const busy = step.then(
      () => undefined,
      (error: unknown) => this.#fail(error),
    );
    this.#busy = busy;
    void busy.then(() => {
      if (this.#busy === busy) this.#busy = undefined;
    });
  }

  /** Through the transforms from `index` on, and out. */
  #pass(piece: Uint8Array, index: number): boolean | Promise<boolean> {
    let current = piece;
    for (let next = index; next < this.#transforms.length; next++) {
      if (current.byteLength === 0) return true;
      const turned = (this.#transforms[next] as BodyTransform).write(current);
      if (!(turned instanceof Uint8Array)) return this.#passLater(turned, next + 1);
      current = turned;
    }
    return current.byteLength === 0 || this.#inner.write(current);
  }

  /** What is not there yet. The client takes one piece before the next is made. */
  async #passLater(turned: Exclude<Transformed, Uint8Array>, index: number): Promise<boolean> {
    if (turned instanceof Promise) return this.#pass(await turned, index);
    let isTaken = true;
    for await (const piece of turned) {
      isTaken = await this.#pass(piece, index);
      if (!isTaken) await this.#inner.drained();
    }
    return isTaken;
  }

  /** Ends one transform after the other: what the first has left passes through those behind it. */
  #finish(index: number): boolean | Promise<boolean> {
    const transform = this.#transforms[index];
    if (!transform) {
      this.#inner.end();
      return true;
    }
    const rest = transform.end();
    const passed =
      rest instanceof Uint8Array ? this.#pass(rest, index + 1) : this.#passLater(rest, index + 1);
    return passed instanceof Promise ? passed.then(() => this.#finish(index + 1)) : this.#finish(index + 1);
  }
}
