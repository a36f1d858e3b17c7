import type { ServerHttp2Stream } from 'node:http2';
import type { ResponseStream } from '../../../http/index.ts';
import { type Failing, guarded } from '../transport.ts';

/** Options of a `ResponseWriter`. */
interface WriterOptions {
  /** -1 if the length is unknown. */
  readonly lengthBytes: number;
  readonly timeoutMs: number;
  readonly wrote: (bytes: number) => void;
  /** Called with the number of bytes that wait for the client, after some were added or the client has taken some. */
  readonly added: (waitingBytes: number) => void;
  readonly taken: (waitingBytes: number) => void;
  /** Called if the body is shorter than its length. */
  readonly cut: () => void;
  /** Called if the client has taken nothing for `timeoutMs`. */
  readonly timedOut: () => void;
}

/**
 * Writes the body of a response on an HTTP/2 stream. Reports a client that takes none of it for `timeoutMs`: the
 * timeout of `node:http2` restarts with any bytes on the connection, even with the responses to pings.
 */
export class ResponseWriter implements ResponseStream {
  readonly #stream: ServerHttp2Stream;
  readonly #owner: Failing;
  readonly #options: WriterOptions;
  #left: number;
  #ended = false;
  #complete = false;
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined = undefined;

  constructor(stream: ServerHttp2Stream, owner: Failing, options: WriterOptions) {
    this.#stream = stream;
    this.#owner = owner;
    this.#options = options;
    this.#left = options.lengthBytes < 0 ? Infinity : options.lengthBytes;
  }

  /** True if the whole body has been written, even if it is not sent yet. */
  get isComplete(): boolean {
    return this.#complete;
  }

  /** The number of bytes of a body of known length that are not written yet; 0 if its length is unknown. */
  get leftBytes(): number {
    return this.#left === Infinity ? 0 : this.#left;
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#ended || chunk.length === 0) return !this.#isFull;
    const bytes = (typeof chunk === 'string' ? Buffer.from(chunk) : chunk).subarray(0, this.#left);
    this.#left -= bytes.length;
    this.#options.wrote(bytes.length);
    this.#stream.write(bytes, this.#taken);
    this.#options.added(this.#stream.writableLength);
    return !this.#isFull;
  }

  drained(): Promise<void> {
    if (this.#ended || !this.#isFull) return Promise.resolve();
    this.#watch();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Ends the body. If it is shorter than its length, the stream is reset, so that the client notices. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#left > 0 && this.#left !== Infinity) return this.#options.cut();
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
    this.#options.added(this.#stream.writableLength);
  }

  /** Called when the stream is closed or its body is sent. Resolves pending promises. */
  release(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  get #isFull(): boolean {
    return this.#stream.writableLength > 0;
  }

  #watch(): void {
    this.#timer ??= setTimeout(guarded(this.#owner, this.#options.timedOut), this.#options.timeoutMs);
    this.#timer.refresh();
  }

  readonly #taken = (): void => {
    this.#options.taken(this.#stream.writableLength);
    if (this.#isFull) {
      this.#timer?.refresh();
      return;
    }
    if (!this.#complete) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    for (const resolve of this.#waiting.splice(0)) guarded(this.#owner, resolve)();
  };
}
