import type { BodyTransform, Transformed } from './body-transform.ts';

/** A response whose body is written in pieces. */
export interface ResponseStream {
  /**
   * Returns false if the writer has to wait for `drained`: then the chunk's bytes are sent, and may change. After true,
   * they may change only if the stream `freesBytes`; others may still have them.
   */
  write(chunk: string | Uint8Array): boolean;
  readonly freesBytes?: true;
  drained(): Promise<void>;
  end(): void;
}

const PIECE_BYTES = 65_536;

/** Writes a complete body at the client's pace, and ends the stream. */
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

/**
 * Larger bodies are transformed in pieces, so that other requests are not delayed: gzip level 6 takes 2 ms for this
 * size.
 */
const MOST_TRANSFORMED_BYTES = 131_072;

/** Runs a complete body through all transforms. Returns `undefined` if it has to be transformed in pieces. */
export function transformWhole(
  bytes: Uint8Array,
  transforms: readonly BodyTransform[],
): Uint8Array | undefined {
  if (transforms.length === 0) return bytes;
  if (bytes.byteLength > MOST_TRANSFORMED_BYTES || !transforms.every(({ whole }) => whole)) return undefined;
  return transforms.reduce((body, transform) => transform.whole?.(body) ?? body, bytes);
}

/** Transforms take at most about 30 ms for this many bytes (`sub_filter` with a match at every byte). */
const TURN_BYTES = 131_072;

/** A transform that waits for a later turn. */
interface WaitingTransform {
  readonly bytes: number;
  readonly resolve: () => void;
}

/** Limits the bytes that a worker transforms in one turn of the event loop, for all its responses together. */
class TurnBudget {
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

/** The budget of this thread. */
const turn = new TurnBudget();

/** A stream that transforms the body before it is sent. Pieces keep their order even if a transform waits. */
export class FilteredStream implements ResponseStream {
  readonly #inner: ResponseStream;
  readonly #transforms: readonly BodyTransform[];
  readonly #fail: (error: unknown) => void;
  #busy: Promise<void> | undefined = undefined;

  /** `fail` receives the error of a transform. The head is already sent, so all it can do is close the connection. */
  constructor(inner: ResponseStream, transforms: readonly BodyTransform[], fail: (error: unknown) => void) {
    this.#inner = inner;
    this.#transforms = transforms;
    this.#fail = fail;
  }

  write(chunk: string | Uint8Array): boolean {
    const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    return this.#run(() => this.#take(piece));
  }

  async drained(): Promise<void> {
    while (this.#busy) await this.#busy;
    await this.#inner.drained();
  }

  end(): void {
    this.#run(() => this.#finish(0));
  }

  /** Runs a step immediately, or after the step that is still waiting. */
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

  /** Transforms a piece, in this turn of the event loop or in later ones. */
  #take(piece: Uint8Array): boolean | Promise<boolean> {
    if (piece.byteLength > PIECE_BYTES) return this.#takeInSlices(piece);
    return turn.take(piece.byteLength)?.then(() => this.#pass(piece, 0)) ?? this.#pass(piece, 0);
  }

  async #takeInSlices(piece: Uint8Array): Promise<boolean> {
    let isTaken = true;
    for (let at = 0; at < piece.byteLength; at += PIECE_BYTES) {
      if (!isTaken) await this.#inner.drained();
      isTaken = await this.#take(piece.subarray(at, at + PIECE_BYTES));
    }
    return isTaken;
  }

  /** Passes a piece through the transforms from `index` on, and sends the result. */
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

  /** Passes on output that is produced later. The client takes each part before the next is produced. */
  async #passLater(turned: Exclude<Transformed, Uint8Array>, index: number): Promise<boolean> {
    if (turned instanceof Promise) return this.#pass(await turned, index);
    let isTaken = true;
    for await (const piece of turned) {
      isTaken = await this.#pass(piece, index);
      if (!isTaken) await this.#inner.drained();
    }
    return isTaken;
  }

  /** Ends the transforms in order: the rest of each passes through those after it. */
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
