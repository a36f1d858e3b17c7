import type { ServerHttp2Stream } from 'node:http2';
import type { ResponseStream } from '../../../http/index.ts';
import type { SilenceWatch } from '../request-body.ts';
import { type Failing, guarded } from '../transport.ts';

/** The wire of the response. */
export interface BodyOwner extends Failing {
  /** Called with the number of bytes that wait for the client, after some were added or the client has taken some. */
  added(waitingBytes: number): void;
  taken(waitingBytes: number): void;
  /** Called with the bytes of a body that is written in pieces. */
  wrote(bytes: number): void;
  /** Called if the body is shorter than its length. */
  cut(): void;
  /** Called if the client has taken nothing for `timeoutMs`. */
  timedOut(): void;
}

/** Options of a `ResponseWriter`. */
interface WriterOptions {
  /** -1 if the length is unknown. */
  readonly lengthBytes: number;
  readonly timeoutMs: number;
  /** The whole body is in memory. Those of files and upstreams are read while they are written. */
  readonly isWhole: boolean;
}

/**
 * Writes the body of a response on an HTTP/2 stream. Reports a client that takes none of it for `timeoutMs`: the
 * timeout of `node:http2` restarts with any bytes on the connection, even with the responses to pings.
 */
export class ResponseWriter implements ResponseStream {
  readonly freesBytes = true;
  readonly #stream: ServerHttp2Stream;
  readonly #owner: BodyOwner;
  readonly #silence: SilenceWatch;
  readonly #timeoutMs: number;
  readonly #isWhole: boolean;
  #left: number;
  #ended = false;
  #complete = false;
  #released = false;
  /** Made for the first piece: most bodies are written at once. */
  #afterPiece: (() => void) | undefined = undefined;
  #waiting: (() => void)[] | undefined = undefined;
  #timer: NodeJS.Timeout | undefined = undefined;

  constructor(
    stream: ServerHttp2Stream,
    { owner, silence }: { readonly owner: BodyOwner; readonly silence: SilenceWatch },
    { lengthBytes, timeoutMs, isWhole }: WriterOptions,
  ) {
    this.#stream = stream;
    this.#owner = owner;
    this.#silence = silence;
    this.#timeoutMs = timeoutMs;
    this.#isWhole = isWhole;
    this.#left = lengthBytes < 0 ? Infinity : lengthBytes;
  }

  /** True if the whole body has been written, even if it is not sent yet. */
  get isComplete(): boolean {
    return this.#complete;
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#ended || chunk.length === 0) return !this.#isFull;
    const bytes = (typeof chunk === 'string' ? Buffer.from(chunk) : chunk).subarray(0, this.#left);
    this.#left -= bytes.length;
    // The exchange has already counted a whole body.
    if (!this.#isWhole) this.#owner.wrote(bytes.length);
    this.#stream.write(bytes, (this.#afterPiece ??= () => this.#taken()));
    this.#owner.added(this.#waitingBytes);
    return !this.#isFull;
  }

  drained(): Promise<void> {
    if (this.#ended || !this.#isFull) return Promise.resolve();
    this.#watch();
    return new Promise((resolve) => (this.#waiting ??= []).push(resolve));
  }

  /** Ends the body. If it is shorter than its length, the stream is reset, so that the client notices. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#left > 0 && this.#left !== Infinity) return this.#owner.cut();
    this.#complete = true;
    this.#watch();
    this.#stream.end();
  }

  /** Writes and ends a body that is small enough for one piece. */
  endWith(body: string | Uint8Array): void {
    this.#ended = this.#complete = true;
    this.#left = 0;
    this.#watch();
    this.#stream.end(body);
    this.#owner.added(this.#waitingBytes);
  }

  /** Called when the stream is closed or its body is sent. Resolves pending promises. */
  release(): void {
    this.#ended = this.#released = true;
    clearTimeout(this.#timer);
    this.#wakeWaiting();
  }

  get #isFull(): boolean {
    return this.#stream.writableLength > 0;
  }

  /** Of a whole body, the bytes that are not written yet wait as well. */
  get #waitingBytes(): number {
    return this.#stream.writableLength + (this.#isWhole ? this.#left : 0);
  }

  /** Starts the timeout at the end of the event loop's turn: most bodies are sent by then. */
  #watch(): void {
    if (this.#timer) this.#timer.refresh();
    else this.#silence.add(this);
  }

  watchSilence(): void {
    if (this.#timer || this.#released || !(this.#complete || this.#isFull)) return;
    this.#timer = setTimeout(
      guarded(this.#owner, () => this.#owner.timedOut()),
      this.#timeoutMs,
    );
  }

  #taken(): void {
    this.#owner.taken(this.#waitingBytes);
    if (this.#isFull) {
      this.#timer?.refresh();
      return;
    }
    if (!this.#complete) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    this.#wakeWaiting();
  }

  #wakeWaiting(): void {
    const waiting = this.#waiting;
    if (!waiting) return;
    this.#waiting = undefined;
    for (const resolve of waiting) resolve();
  }
}
