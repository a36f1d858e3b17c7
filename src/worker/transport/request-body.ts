import type { HttpResponse } from 'uWebSockets.js';

/** What becomes of a body: all of it, more than the limit, too long a silence, or a client that left. */
export type BodyOutcome = Buffer | 'too large' | 'timeout' | 'aborted';

/** Bytes that may wait before somebody reads; then the client is held back. */
const UNREAD_BYTES = 65_536;

interface Reader {
  readonly limitBytes: number;
  readonly timeoutMs: number;
  readonly resolve: (outcome: BodyOutcome) => void;
}

/**
 * Collects a request body from its first byte, whether or not somebody reads it: without a data handler
 * uWebSockets.js has no time limit for it. What nobody wants is dropped.
 */
export class RequestBody {
  receivedBytes = 0;
  private chunks: Buffer[] = [];
  private complete = false;
  private dropping = false;
  private paused = false;
  private reader: Reader | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  private readonly res: HttpResponse;

  constructor(res: HttpResponse) {
    this.res = res;
    res.onData((chunk, isLast) => this.receive(chunk, isLast));
  }

  /** At most once per request. */
  read(limitBytes: number, timeoutMs: number): Promise<BodyOutcome> {
    return new Promise((resolve) => {
      this.reader = { limitBytes, timeoutMs, resolve };
      if (this.receivedBytes > limitBytes) return this.settle('too large');
      if (this.complete) return this.settle(this.whole());
      if (this.paused) {
        this.paused = false;
        this.res.resume();
      }
      this.watchSilence();
    });
  }

  /** The answer no longer depends on the body: forget it, and let the rest come so that the connection stays in step. */
  drop(): void {
    this.dropping = true;
    this.chunks = [];
    clearTimeout(this.timer);
  }

  /** The client is gone. */
  abort(): void {
    this.settle('aborted');
  }

  private receive(chunk: ArrayBuffer, isLast: boolean): void {
    this.receivedBytes += chunk.byteLength;
    this.complete = isLast;
    if (this.dropping) return;
    // uWebSockets.js takes the memory back when this returns, so copy.
    if (chunk.byteLength > 0) this.chunks.push(Buffer.from(new Uint8Array(chunk)));
    if (this.reader) this.inform(this.reader);
    else if (!isLast && this.receivedBytes > UNREAD_BYTES && !this.paused) {
      this.paused = true;
      this.res.pause();
    }
  }

  private inform({ limitBytes }: Reader): void {
    if (this.receivedBytes > limitBytes) return this.settle('too large');
    if (this.complete) return this.settle(this.whole());
    this.watchSilence();
  }

  private whole(): Buffer {
    const [first] = this.chunks;
    return first && this.chunks.length === 1 ? first : Buffer.concat(this.chunks, this.receivedBytes);
  }

  private watchSilence(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settle('timeout'), this.reader?.timeoutMs);
  }

  private settle(outcome: BodyOutcome): void {
    this.drop();
    this.reader?.resolve(outcome);
    this.reader = undefined;
  }
}
