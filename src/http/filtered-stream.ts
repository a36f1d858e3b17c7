import type { BodyTransform, Transformed } from './body-filter.ts';
import type { ResponseStream } from './response-stream.ts';

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
