import type { PieceReceiver } from '../../http/index.ts';
import { BodyBytes } from './body-bytes.ts';
import { guarded } from './guarded.ts';
import type { Failing } from './guarded.ts';
import type { SilenceWatch, Slow } from './silence-watch.ts';

/** What becomes of a body: all of it, more than the limit, too long a silence, or a client that left. */
export type BodyOutcome = Buffer | 'too large' | 'timeout' | 'aborted';

/** Where a body comes from: the response object of uWebSockets.js, or a connection of the node engine. */
export interface BodySource {
  /** An `ArrayBuffer` is taken back when the handler returns. */
  onData(handler: (chunk: ArrayBuffer | Buffer, isLast: boolean) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** Who wants the body. */
export interface BodyReader {
  readonly limitBytes: number;
  readonly timeoutMs: number;
  readonly settle: (outcome: BodyOutcome) => void;
  /** Takes the body as it comes; the outcome is then an empty buffer. */
  readonly receive?: PieceReceiver | undefined;
  /** Hears what `receive` throws. */
  readonly fail: (error: unknown) => void;
}

/** Bytes that may wait before somebody reads; then the client is held back. */
const UNREAD_BYTES = 65_536;
/** Bytes beyond the limit that are read and dropped: a client that is still sending would not see its 413. */
const LINGER_BYTES = 1_048_576;
/** And the silence after which it is taken to be waiting for that answer. */
const LINGER_MS = 500;

/**
 * Collects a request body from its first byte, whether or not somebody reads it: without a data handler
 * uWebSockets.js has no time limit for it. What nobody wants is dropped.
 */
export class RequestBody implements Slow, Failing {
  receivedBytes = 0;
  private bytes: BodyBytes;
  private complete = false;
  private dropping = false;
  private paused = false;
  /** A piece is with the reader, who waits. */
  private delivering = false;
  private reader: BodyReader | undefined = undefined;
  /** Why it could not be kept, before somebody wanted it. */
  private failure: { readonly error: unknown } | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  private readonly source: BodySource;
  private readonly silence: SilenceWatch;

  /** `announcedBytes`: -1 when the client did not say. */
  constructor(source: BodySource, silence: SilenceWatch, announcedBytes: number) {
    this.bytes = new BodyBytes(announcedBytes);
    this.source = source;
    this.silence = silence;
    source.onData(guarded(this, (chunk, isLast) => this.receive(chunk, isLast)));
  }

  /** At most once per request. */
  read(reader: BodyReader): void {
    if (this.failure) return reader.fail(this.failure.error);
    this.reader = reader;
    this.bytes.limit(reader.limitBytes);
    if (this.proceed(reader)) return;
    this.resume();
    this.silence.add(this);
  }

  /** The answer no longer depends on the body: forget it, and let the rest come so that the connection stays in step. */
  drop(): void {
    this.forget();
    this.resume();
  }

  /** The client is gone. */
  abort(): void {
    this.paused = false;
    this.settle('aborted');
  }

  watchSilence(): void {
    if (this.reader && !this.timer) this.waitInSilence(this.reader.timeoutMs);
  }

  fail(error: unknown): void {
    this.failure = { error };
    this.failReader(this.reader, error);
  }

  private receive(chunk: ArrayBuffer | Buffer, isLast: boolean): void {
    this.receivedBytes += chunk.byteLength;
    this.complete = isLast;
    if (this.dropping) return;
    this.bytes.add(chunk);
    if (this.reader) {
      this.timer?.refresh();
      this.proceed(this.reader);
    } else if (!isLast && this.receivedBytes > UNREAD_BYTES) this.pause();
  }

  /** True when the reader has its outcome. */
  private proceed({ limitBytes, receive }: BodyReader): boolean {
    if (this.receivedBytes > limitBytes) return this.linger(limitBytes);
    if (receive && (this.delivering || this.deliver(receive))) return false;
    if (this.complete) this.settle(this.bytes.take());
    return this.complete;
  }

  /** Hands on what came. True: the reader waits, and nothing more is asked of the client until it has done with it. */
  private deliver(receive: PieceReceiver): boolean {
    if (this.bytes.length === 0) return false;
    const piece = this.bytes.take();
    this.bytes = new BodyBytes(0);
    const { reader } = this;
    try {
      const waiting = receive(piece);
      if (!waiting) return false;
      this.delivering = true;
      clearTimeout(this.timer);
      this.timer = undefined;
      if (!this.complete) this.pause();
      waiting.then(
        () => this.delivered(),
        (error: unknown) => this.failReader(reader, error),
      );
    } catch (error) {
      this.failReader(reader, error);
    }
    return true;
  }

  private delivered(): void {
    this.delivering = false;
    if (!this.reader || this.proceed(this.reader) || this.delivering) return;
    this.resume();
    this.silence.add(this);
  }

  private failReader(reader: BodyReader | undefined, error: unknown): void {
    this.drop();
    reader?.fail(error);
  }

  private linger(limitBytes: number): boolean {
    const isOver = this.complete || this.receivedBytes > limitBytes + LINGER_BYTES;
    this.bytes = new BodyBytes(0);
    clearTimeout(this.timer);
    if (isOver) this.settle('too large');
    else this.waitInSilence(LINGER_MS);
    return isOver;
  }

  private waitInSilence(ms: number): void {
    this.timer = setTimeout(
      guarded(this, () => this.fallSilent()),
      ms,
    );
  }

  private fallSilent(): void {
    if (this.reader) this.settle(this.receivedBytes > this.reader.limitBytes ? 'too large' : 'timeout');
  }

  private settle(outcome: BodyOutcome): void {
    const { reader } = this;
    this.forget();
    reader?.settle(outcome);
  }

  private forget(): void {
    this.dropping = true;
    this.bytes = new BodyBytes(0);
    this.reader = undefined;
    clearTimeout(this.timer);
  }

  private pause(): void {
    if (this.paused) return;
    this.paused = true;
    this.source.pause();
  }

  private resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.source.resume();
  }
}
