import type { ServerHttp2Stream } from 'node:http2';
import type { ResponseStream } from '../../../http/index.ts';
import { guarded } from '../guarded.ts';
import type { StreamOwner } from '../transport.ts';

/** A response that is sent piece by piece on an HTTP/2 stream. */
export class ResponseWriter implements ResponseStream {
  readonly #stream: ServerHttp2Stream;
  readonly #owner: StreamOwner;
  readonly #timeoutMs: number;
  #left: number;
  #ended = false;
  #complete = false;
  #waiting: (() => void)[] = [];

  /** `lengthBytes` is -1 if the length is unknown. */
  constructor(
    stream: ServerHttp2Stream,
    owner: StreamOwner,
    { lengthBytes, timeoutMs }: { lengthBytes: number; timeoutMs: number },
  ) {
    this.#stream = stream;
    this.#owner = owner;
    this.#timeoutMs = timeoutMs;
    this.#left = lengthBytes < 0 ? Infinity : lengthBytes;
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#ended || this.#owner.x.aborted || chunk.length === 0) return !this.#isFull;
    const bytes = (typeof chunk === 'string' ? Buffer.from(chunk) : chunk).subarray(0, this.#left);
    this.#left -= bytes.length;
    this.#owner.x.wrote(bytes.length);
    this.#stream.write(bytes, this.#taken);
    return !this.#isFull;
  }

  /** A client that grants no window for the send timeout loses the stream. */
  drained(): Promise<void> {
    if (this.#ended || !this.#isFull) return Promise.resolve();
    this.#stream.setTimeout(this.#timeoutMs);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Ends the body. If it is shorter than its length, the stream is reset, so that the client does not take it for complete. */
  end(): void {
    if (this.#ended || this.#owner.x.aborted) return;
    this.#ended = true;
    if (this.#left > 0 && this.#left !== Infinity) return this.#owner.x.abort();
    this.#complete = true;
    this.#stream.setTimeout(this.#timeoutMs);
    this.#stream.end();
  }

  /** Called when the stream is closed: nobody has to wait any more. */
  release(): void {
    this.#ended = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** The writer has ended the whole body. */
  get isComplete(): boolean {
    return this.#complete;
  }

  get #isFull(): boolean {
    return this.#stream.writableLength > 0;
  }

  readonly #taken = (): void => {
    if (this.#isFull || this.#waiting.length === 0) return;
    this.#stream.setTimeout(0);
    for (const resolve of this.#waiting.splice(0)) guarded(this.#owner.x, resolve)();
  };
}
