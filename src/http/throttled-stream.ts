import { setTimeout as sleep } from 'node:timers/promises';
import { headBytes, type HeadedResponse, type ResponseRate } from './response-head.ts';
import type { ResponseStream } from './response-stream.ts';

/** Returns a stream that sends a response at its rate. */
export function throttled(
  stream: ResponseStream,
  x: HeadedResponse & { readonly aborted: boolean },
): ResponseStream {
  const rate = { bytesPerSecond: 0, afterBytes: 0, ...x.response.rate };
  // The head counts as well, except for the bytes that the first second allows.
  const headDebt = Math.max(headBytes(x) - rate.bytesPerSecond, 0);
  return new ThrottledStream(stream, { rate, headDebt, isGone: () => x.aborted });
}

/** The settings by which a response is throttled. */
interface Throttling {
  readonly rate: Required<ResponseRate>;
  /** Bytes of the head, which delay the body. */
  readonly headDebt: number;
  /** Tells whether the client has closed the connection. */
  readonly isGone: () => boolean;
}

/** Each piece holds a tenth of a second's bytes, so that slow clients receive a steady flow. */
const PIECES_PER_SECOND = 10;

/** Sends a response at a limited rate (nginx: `limit_rate`). */
class ThrottledStream implements ResponseStream {
  readonly #inner: ResponseStream;
  readonly #rate: Required<ResponseRate>;
  readonly #isGone: () => boolean;
  readonly #startedMs = performance.now();
  #sentBytes: number;
  #waiting: Buffer[] = [];
  /** True while it waits for a timer or for the client. */
  #held = false;
  #ended = false;
  #drainedListeners: (() => void)[] = [];

  constructor(inner: ResponseStream, { rate, headDebt, isGone }: Throttling) {
    this.#inner = inner;
    this.#rate = rate;
    this.#sentBytes = headDebt;
    this.#isGone = isGone;
  }

  write(chunk: string | Uint8Array): boolean {
    // The writer may reuse its buffer, so the bytes are copied.
    this.#waiting.push(Buffer.from(chunk as Uint8Array));
    this.#flow();
    return this.#waiting.length === 0;
  }

  drained(): Promise<void> {
    if (this.#waiting.length === 0) return this.#inner.drained();
    return new Promise((resolve) => {
      this.#drainedListeners.push(resolve);
    });
  }

  end(): void {
    this.#ended = true;
    this.#flow();
  }

  #flow(): void {
    if (this.#held) return;
    while (this.#waiting.length > 0 && !this.#isGone()) {
      const dueMs = this.#dueMs();
      if (dueMs > 0) return this.#holdUntil(sleep(dueMs));
      if (!this.#inner.write(this.#take())) return this.#holdUntil(this.#inner.drained());
    }
    this.#release();
    if (this.#ended) this.#inner.end();
  }

  /** Returns the milliseconds until the next piece may be sent. */
  #dueMs(): number {
    const { bytesPerSecond, afterBytes } = this.#rate;
    const limited = Math.max(this.#sentBytes - afterBytes, 0);
    return (limited / bytesPerSecond) * 1000 - (performance.now() - this.#startedMs);
  }

  #take(): Buffer {
    const { bytesPerSecond, afterBytes } = this.#rate;
    const free = Math.max(afterBytes - this.#sentBytes, 0);
    const size = Math.max(Math.ceil(bytesPerSecond / PIECES_PER_SECOND), free, 1);
    const first = this.#waiting[0] as Buffer;
    const piece = first.subarray(0, size);
    if (piece.length === first.length) this.#waiting.shift();
    else this.#waiting[0] = first.subarray(size);
    this.#sentBytes += piece.length;
    return piece;
  }

  #holdUntil(event: Promise<void>): void {
    this.#held = true;
    void event.then(() => {
      this.#held = false;
      this.#flow();
    });
  }

  #release(): void {
    if (this.#isGone()) this.#waiting = [];
    const listeners = this.#drainedListeners;
    this.#drainedListeners = [];
    for (const resolve of listeners) resolve();
  }
}
