import { setTimeout as sleep } from 'node:timers/promises';
import { type StateHolder, stateKey } from './request-state.ts';
import type { ResponseStream } from './response-stream.ts';

/** How fast a client gets a response (nginx: `limit_rate`). */
export interface Rate {
  /** 0: as fast as it goes. */
  readonly bytesPerSecond: number;
  /** Bytes of the body that go out before the limit begins. */
  readonly afterBytes: number;
}

const RATE = stateKey<Partial<Rate>>('rate of the response');

/** The rate of a response, as far as somebody has said something of it. */
export function rateOf(x: StateHolder): Partial<Rate> | undefined {
  return x.state(RATE);
}

/** Takes effect for a response that has not begun. */
export function changeRate(x: StateHolder, change: Partial<Rate>): void {
  x.setState(RATE, { ...x.state(RATE), ...change });
}

/** Pieces of one write: small enough that a slow client sees a steady flow. */
const PIECES_PER_SECOND = 10;

/** Holds a response to a rate (nginx: `limit_rate`). */
export class ThrottledStream implements ResponseStream {
  readonly #inner: ResponseStream;
  readonly #rate: Rate;
  readonly #isGone: () => boolean;
  readonly #startedMs = performance.now();
  #sentBytes = 0;
  #waiting: Buffer[] = [];
  /** A timer or the client decides when it goes on. */
  #held = false;
  #ended = false;
  #drainedListeners: (() => void)[] = [];

  /** `isGone`: nobody is left to send to. */
  constructor(inner: ResponseStream, rate: Rate, isGone: () => boolean) {
    this.#inner = inner;
    this.#rate = rate;
    this.#isGone = isGone;
  }

  write(chunk: string | Uint8Array): boolean {
    // A writer may use its buffer again.
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

  /** When the next piece may go, in milliseconds from now. */
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
