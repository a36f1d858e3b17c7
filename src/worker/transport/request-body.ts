import type { BodyOutcome, BodyReader, LingeringRules, PieceReceiver } from '../../http/index.ts';
import { type Failing, guarded } from './transport.ts';

/** A body that is not complete yet. */
interface WatchedBody {
  /** Starts its timeout if it is still incomplete. */
  watchSilence(): void;
}

/**
 * Starts the timeouts of bodies at the end of the event loop's turn. Most bodies are complete by then, since they
 * arrive in the same packet as the head, and need no timer.
 */
export class SilenceWatch {
  #waiting: WatchedBody[] = [];

  add(body: WatchedBody): void {
    if (this.#waiting.push(body) === 1) setImmediate(this.#arm);
  }

  readonly #arm = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const body of waiting) body.watchSilence();
  };
}

/** A body up to this size is a list of chunks that are joined at the end; larger ones are written to one buffer. */
const LISTED_BYTES = 1_048_576;
/** The same for the number of chunks: one-byte chunks would take a hundred times their size. */
const LISTED_PIECES = 1_024;
/** Limit of what is allocated in advance, since a client can announce any length. */
const MOST_ROOM_BYTES = 67_108_864;

/** The bytes of a body while it is received. A large body is never in memory twice, nor copied as a whole. */
export class BodyBytes {
  length = 0;
  #first: Buffer | undefined = undefined;
  /** All chunks as soon as there are two. */
  #chunks: Buffer[] | undefined = undefined;
  #whole: Buffer | undefined = undefined;
  #expectedBytes: number;

  /** `announcedBytes` is -1 if the length is unknown. */
  constructor(announcedBytes: number) {
    this.#expectedBytes = Math.min(announcedBytes, MOST_ROOM_BYTES);
  }

  /** Sets the largest possible length. */
  limit(bytes: number): void {
    if (this.#expectedBytes < 0) this.#expectedBytes = Math.min(bytes, MOST_ROOM_BYTES);
  }

  /** Adds a chunk. An `ArrayBuffer` belongs to uWebSockets.js and is copied; a `Buffer` is not. */
  add(chunk: ArrayBuffer | Buffer): void {
    if (chunk.byteLength === 0) return;
    const length = this.length + chunk.byteLength;
    const isOurs = Buffer.isBuffer(chunk);
    const piece = isOurs ? chunk : new Uint8Array(chunk);
    const pieces = this.#chunks?.length ?? 0;
    if (this.#whole || length > LISTED_BYTES || pieces >= LISTED_PIECES)
      this.#room(length).set(piece, this.length);
    else this.#list(isOurs ? chunk : Buffer.from(piece));
    this.length = length;
  }

  /** Most bodies are one chunk, which needs no list. */
  #list(chunk: Buffer): void {
    if (this.#chunks) this.#chunks.push(chunk);
    else if (this.#first) this.#chunks = [this.#first, chunk];
    else this.#first = chunk;
  }

  /** Returns everything received. */
  take(): Buffer {
    if (this.#whole) return this.#whole.subarray(0, this.length);
    if (this.#chunks) return Buffer.concat(this.#chunks, this.length);
    return this.#first ?? Buffer.alloc(0);
  }

  /**
   * Returns a buffer that contains the bytes so far and has room for `length` bytes. Pages that are never written take
   * no memory.
   */
  #room(length: number): Buffer {
    if (this.#whole && this.#whole.length >= length) return this.#whole;
    const grown = Buffer.allocUnsafeSlow(
      Math.max(this.#expectedBytes, length, this.#whole ? 2 * this.length : 0),
    );
    let at = 0;
    const pieces = this.#whole ? [this.#whole.subarray(0, this.length)] : (this.#chunks ?? [this.#first]);
    for (const piece of pieces) at += piece?.copy(grown, at) ?? 0;
    this.#first = this.#chunks = undefined;
    this.#whole = grown;
    return grown;
  }
}

/** The bytes of a body that is dropped. */
const NOTHING = new BodyBytes(0);

/** The source of a body: the response object of uWebSockets.js, or a connection of the node engine. */
export interface BodySource {
  /** An `ArrayBuffer` is only valid until the handler returns. */
  onData(handler: (chunk: ArrayBuffer | Buffer, isLast: boolean) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** Bytes that are buffered before the body is read; beyond this the client is held back. */
const UNREAD_BYTES = 65_536;
/** Bytes beyond the limit that are read and dropped, so that a client that is still sending can read its 413. */
const LINGER_BYTES = 1_048_576;
/** After this silence, the client is assumed to wait for that response. */
const LINGER_MS = 500;

/**
 * Collects a request body from its first byte after `start`, even before it is read: without a data handler
 * uWebSockets.js has no time limit for it. A body that is not needed is dropped.
 */
export class RequestBody implements WatchedBody, Failing {
  receivedBytes = 0;
  #bytes: BodyBytes;
  #complete = false;
  #dropping = false;
  #paused = false;
  /** The reader is still processing a piece. */
  #delivering = false;
  #reader: BodyReader | undefined = undefined;
  /** The error of a body that failed before it was read. */
  #failure: { readonly error: unknown } | undefined = undefined;
  #timer: NodeJS.Timeout | undefined = undefined;
  /** Called when the rest of a dropped body was received, or is no longer awaited. */
  #over: (() => void) | undefined = undefined;
  #overAtMs = 0;
  /** When the last bytes of an incomplete body came; 0: it is not known, because nobody waits for it. */
  #lastMs = 0;
  readonly #source: BodySource;
  readonly #silence: SilenceWatch;

  /** `announcedBytes` is -1 if the length is unknown. */
  constructor(source: BodySource, silence: SilenceWatch, announcedBytes: number) {
    this.#bytes = new BodyBytes(announcedBytes);
    this.#source = source;
    this.#silence = silence;
  }

  get isComplete(): boolean {
    return this.#complete;
  }

  /** The time for which a reader has waited for more of it. */
  get silentMs(): number {
    return this.#complete || this.#lastMs === 0 ? 0 : performance.now() - this.#lastMs;
  }

  /** Starts receiving; call it before the first byte can arrive. Returns the body. */
  start(): this {
    this.#source.onData(guarded(this, (chunk, isLast) => this.#receive(chunk, isLast)));
    return this;
  }

  /** Passes the body to a reader; called at most once per request. */
  read(reader: BodyReader): void {
    if (this.#failure) return reader.fail(this.#failure.error);
    this.#reader = reader;
    this.#bytes.limit(reader.limitBytes);
    // If the reader needs time for the buffered bytes, the client is held back.
    if (this.#proceed(reader) || this.#delivering) return;
    this.#resume();
    this.#silence.add(this);
  }

  /**
   * The response no longer depends on the body: drops what has been buffered, and reads the rest so that the next
   * request can be found.
   */
  drop(): void {
    this.#forget();
    this.#resume();
  }

  /** Drops the body. Calls `over` with its last byte, after `silenceMs` without a byte, or after `timeMs` in total. */
  outlast({ silenceMs, timeMs }: Pick<LingeringRules, 'silenceMs' | 'timeMs'>, over: () => void): void {
    this.drop();
    this.#over = over;
    this.#overAtMs = performance.now() + timeMs;
    this.#timer = setTimeout(
      guarded(this, () => this.#end()),
      silenceMs,
    );
  }

  /** Called when the client has closed the connection. */
  abort(): void {
    this.#paused = false;
    this.#over = undefined;
    this.#settle('aborted');
  }

  watchSilence(): void {
    if (!this.#reader || this.#timer) return;
    this.#lastMs ||= performance.now();
    this.#waitInSilence(this.#reader.timeoutMs);
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#failReader(this.#reader, error);
  }

  #receive(chunk: ArrayBuffer | Buffer, isLast: boolean): void {
    this.receivedBytes += chunk.byteLength;
    this.#complete = isLast;
    if (!isLast) this.#lastMs = performance.now();
    if (this.#dropping) return this.#receiveRest();
    this.#bytes.add(chunk);
    if (this.#reader) {
      this.#timer?.refresh();
      this.#proceed(this.#reader);
    } else if (!isLast && this.receivedBytes > UNREAD_BYTES) this.#pause();
  }

  #receiveRest(): void {
    if (this.#complete || performance.now() > this.#overAtMs) this.#end();
    else this.#timer?.refresh();
  }

  #end(): void {
    clearTimeout(this.#timer);
    const over = this.#over;
    this.#over = undefined;
    over?.();
  }

  /** Returns true if the reader has its outcome. */
  #proceed({ limitBytes, receive }: BodyReader): boolean {
    if (this.receivedBytes > limitBytes) return this.#linger(limitBytes);
    if (receive && (this.#delivering || this.#deliver(receive))) return false;
    if (this.#complete) this.#settle(this.#bytes.take());
    return this.#complete;
  }

  /** Passes buffered bytes to the reader. Returns true if the reader needs time; until then the client is held back. */
  #deliver(receive: PieceReceiver): boolean {
    if (this.#bytes.length === 0) return false;
    const piece = this.#bytes.take();
    this.#bytes = new BodyBytes(0);
    const reader = this.#reader;
    try {
      const waiting = receive(piece);
      if (!waiting) return false;
      this.#delivering = true;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      if (!this.#complete) this.#pause();
      waiting.then(
        () => this.#delivered(),
        (error: unknown) => this.#failReader(reader, error),
      );
    } catch (error) {
      this.#failReader(reader, error);
    }
    return true;
  }

  #delivered(): void {
    this.#delivering = false;
    if (!this.#reader || this.#proceed(this.#reader) || this.#delivering) return;
    this.#resume();
    this.#silence.add(this);
  }

  #failReader(reader: BodyReader | undefined, error: unknown): void {
    this.drop();
    reader?.fail(error);
  }

  #linger(limitBytes: number): boolean {
    const isOver = this.#complete || this.receivedBytes > limitBytes + LINGER_BYTES;
    this.#bytes = new BodyBytes(0);
    clearTimeout(this.#timer);
    if (isOver) this.#settle('too large');
    else this.#waitInSilence(LINGER_MS);
    return isOver;
  }

  #waitInSilence(ms: number): void {
    this.#timer = setTimeout(
      guarded(this, () => this.#fallSilent()),
      ms,
    );
  }

  #fallSilent(): void {
    if (this.#reader) this.#settle(this.receivedBytes > this.#reader.limitBytes ? 'too large' : 'timeout');
  }

  #settle(outcome: BodyOutcome): void {
    const reader = this.#reader;
    this.#forget();
    reader?.settle(outcome);
  }

  #forget(): void {
    this.#dropping = true;
    this.#bytes = NOTHING;
    this.#reader = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#source.pause();
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#source.resume();
  }
}
