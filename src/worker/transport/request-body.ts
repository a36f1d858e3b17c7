import type { BodyOutcome, BodyReader, PieceReceiver } from '../../http/index.ts';
import { type Failing, guarded } from './guarded.ts';

/** A body that is still coming. */
interface WatchedBody {
  /** Starts its timer if it still waits. */
  watchSilence(): void;
}

/**
 * Starts the timers of bodies at the end of the event loop's turn: by then most bodies have come whole, for they travel in
 * the packet of their head, and need none.
 */
export class SilenceWatch {
  private waiting: WatchedBody[] = [];

  add(body: WatchedBody): void {
    if (this.waiting.push(body) === 1) setImmediate(this.arm);
  }

  private readonly arm = (): void => {
    const { waiting } = this;
    this.waiting = [];
    for (const body of waiting) body.watchSilence();
  };
}

/** Up to here a body is a list of what came, put together at the end; beyond, one buffer takes it as it comes. */
const LISTED_BYTES = 1_048_576;
/** And so many pieces: chunks of one byte would cost a hundred times their size. */
const LISTED_PIECES = 1_024;
/** Most that is set aside before it comes: a length is easily announced. */
const MOST_ROOM_BYTES = 67_108_864;

/** A body while it is received: a large one is never in memory twice, nor copied in one go. */
export class BodyBytes {
  length = 0;
  private chunks: Buffer[] = [];
  private whole: Buffer | undefined = undefined;
  private expectedBytes: number;

  /** `announcedBytes`: -1 when the client did not say. */
  constructor(announcedBytes: number) {
    this.expectedBytes = Math.min(announcedBytes, MOST_ROOM_BYTES);
  }

  /** No more than so many bytes will be taken. */
  limit(bytes: number): void {
    if (this.expectedBytes < 0) this.expectedBytes = Math.min(bytes, MOST_ROOM_BYTES);
  }

  /** Copies what uWebSockets.js lends; a buffer is ours. */
  add(chunk: ArrayBuffer | Buffer): void {
    if (chunk.byteLength === 0) return;
    const length = this.length + chunk.byteLength;
    const isOurs = Buffer.isBuffer(chunk);
    const piece = isOurs ? chunk : new Uint8Array(chunk);
    if (this.whole || length > LISTED_BYTES || this.chunks.length >= LISTED_PIECES)
      this.room(length).set(piece, this.length);
    else this.chunks.push(isOurs ? chunk : Buffer.from(piece));
    this.length = length;
  }

  /** All that came. */
  take(): Buffer {
    if (this.whole) return this.whole.subarray(0, this.length);
    const [first] = this.chunks;
    return first && this.chunks.length === 1 ? first : Buffer.concat(this.chunks, this.length);
  }

  /** A buffer that holds what came so far, and has room for so many bytes. Pages that nobody wrote to cost nothing. */
  private room(length: number): Buffer {
    if (this.whole && this.whole.length >= length) return this.whole;
    const grown = Buffer.allocUnsafeSlow(
      Math.max(this.expectedBytes, length, this.whole ? 2 * this.length : 0),
    );
    let at = 0;
    for (const piece of this.whole ? [this.whole.subarray(0, this.length)] : this.chunks) {
      at += piece.copy(grown, at);
    }
    this.chunks = [];
    this.whole = grown;
    return grown;
  }
}

/** Where a body comes from: the response object of uWebSockets.js, or a connection of the node engine. */
export interface BodySource {
  /** An `ArrayBuffer` is taken back when the handler returns. */
  onData(handler: (chunk: ArrayBuffer | Buffer, isLast: boolean) => void): unknown;
  pause(): unknown;
  resume(): unknown;
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
export class RequestBody implements WatchedBody, Failing {
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
