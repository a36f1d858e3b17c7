import type { Transform } from 'node:stream';
import type { ExchangeState } from './exchange-state.ts';
import type { ResponseStream } from './response-stream.ts';

/** What a piece becomes. In several pieces where it may grow: each goes out before the next is asked for. */
export type Transformed = Uint8Array | Promise<Uint8Array> | AsyncIterable<Uint8Array>;

/** Turns the body of one answer into another one (gzip, sub_filter …), piece by piece or whole. */
export interface BodyTransform {
  /** The whole body at once, where it is there already; absent: always in pieces. */
  whole?(body: Uint8Array): Uint8Array;
  /** May give an empty array: nothing to send yet. */
  write(piece: Uint8Array): Transformed;
  /** What is left. */
  end(): Transformed;
  /** The answer ended early: free what it holds. */
  close?(): void;
}

/** Decides for each answer of an exchange `X` whether to transform its body. The header filters have run by then. */
export interface BodyFilterOf<X> {
  /** Only looks: at the status, `responseType`, `responseLength` and the headers. */
  wants(x: X): boolean;
  /** May change response headers; the length is dropped afterwards. */
  open(x: X): BodyTransform;
}

/** An answer whose bytes change on their way has no ranges to ask for, and a weak `ETag` at best (nginx). */
export function becomesAnother(x: ExchangeState): void {
  x.removeHeader('Accept-Ranges');
  weakenEtag(x);
}

/** Makes the `ETag` of an answer whose bytes change a weak one; what is no entity tag goes (nginx: ngx_http_weak_etag). */
export function weakenEtag(x: ExchangeState): void {
  const etag = x.responseHeader('ETag');
  if (etag === undefined || etag.startsWith('W/')) return;
  if (etag.startsWith('"')) x.replaceHeader('ETag', `W/${etag}`);
  else x.removeHeader('ETag');
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
