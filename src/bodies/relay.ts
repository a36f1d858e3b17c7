import type { Exchange, ResponseStream, Wire } from '../http/index.ts';

/** The origin of a body; it is paused while the client is slow. */
export interface Source {
  /** Trailer fields, once the body is complete. */
  readonly trailers: readonly string[];
  pause(): void;
  resume(): void;
}

/** Takes the body of a response. */
export interface BodyTaker {
  piece(bytes: Buffer): void;
  /** The bytes received with the head were passed on. Without buffering the client gets them, or only the head, now. */
  follow(): void;
  /** The response is complete. */
  end(): void;
  /**
   * The upstream failed before the response was complete. The client gets the part that was received, and its
   * connection is cut.
   */
  cut(): void;
  /** The client has gone. */
  drop(): void;
}

/** Discards the body of a response. */
export const TAKES_NOTHING: BodyTaker = {
  piece: () => undefined,
  follow: () => undefined,
  end: () => undefined,
  cut: () => undefined,
  drop: () => undefined,
};

/** The rules for sending a response to the client. */
interface RelayRules {
  readonly status: number;
  readonly contentType: string;
  /** -1: unknown. */
  readonly lengthBytes: number;
  /** Maximum number of bytes that are kept for a slow client before the upstream is paused. */
  readonly readAheadBytes: number;
  /** The rate of the source is limited: the client gets each piece at once. */
  readonly isPaced?: boolean;
}

/** A response of known length up to this size is sent in one piece. */
const WHOLE_BYTES = 65_536;

/** Sends the body of a response to the client, at the client's pace. */
export class Relay implements BodyTaker {
  readonly #x: Exchange;
  readonly #source: Source;
  readonly #rules: RelayRules;
  #stream: ResponseStream | undefined = undefined;
  /** Pieces that wait for the rest of a small response, or for the client. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Bytes that may wait for the client before the source is paused. */
  #aheadBytes = 0;
  #isCollecting: boolean;
  #isBlocked = false;
  #isPaused = false;
  #isOver: 'no' | 'whole' | 'cut' = 'no';
  #totalBytes = 0;
  #last: Buffer | undefined = undefined;

  constructor(x: Exchange, source: Source, rules: RelayRules) {
    this.#x = x;
    this.#source = source;
    this.#rules = rules;
    const { lengthBytes, isPaced = false } = rules;
    const hasBody = x.request.method !== 'HEAD' && lengthBytes > 0 && !isPaced;
    // A small body is passed on in pieces if the memory for all of it is not available.
    this.#isCollecting = hasBody && lengthBytes <= WHOLE_BYTES && roomFor(x, lengthBytes) === lengthBytes;
    if (!this.#isCollecting) this.#open();
  }

  piece(bytes: Buffer): void {
    this.#totalBytes += bytes.length;
    // `end` sends the last byte: it ends and logs the exchange, and the upstream variables must be final by then.
    if (this.#totalBytes === this.#rules.lengthBytes) this.#last = bytes;
    else if (this.#isCollecting) this.#waiting.push(bytes);
    else if (this.#isBlocked) this.#queue(bytes);
    else this.#write(bytes);
  }

  follow(): void {
    if (this.#isCollecting && this.#rules.readAheadBytes === 0) this.#stopCollecting();
  }

  end(): void {
    this.#isOver = 'whole';
    if (this.#isCollecting) return this.#sendWhole();
    if (this.#last && this.#isBlocked) this.#queue(this.#last);
    else if (this.#last) this.#write(this.#last);
    if (!this.#isBlocked) this.#stream?.end();
  }

  cut(): void {
    this.#isOver = 'cut';
    if (this.#isCollecting) this.#stopCollecting();
    if (!this.#isBlocked) this.#finish();
  }

  #stopCollecting(): void {
    this.#isCollecting = false;
    this.#open();
    this.#writeWaiting();
  }

  drop(): void {
    this.#waiting = [];
  }

  #open(): void {
    const { status, contentType, lengthBytes } = this.#rules;
    this.#stream = this.#x.stream(status, contentType, lengthBytes);
  }

  #sendWhole(): void {
    const waiting = this.#waiting;
    const last = this.#last ?? Buffer.alloc(0);
    const { status, contentType } = this.#rules;
    this.#x.send(status, contentType, waiting.length === 0 ? last : Buffer.concat([...waiting, last]));
  }

  #write(bytes: Buffer): void {
    if (this.#stream?.write(bytes) !== false) return;
    this.#isBlocked = true;
    const { readAheadBytes } = this.#rules;
    this.#aheadBytes = roomFor(this.#x, readAheadBytes) === readAheadBytes ? readAheadBytes : 0;
    if (this.#aheadBytes === 0) this.#hold();
    this.#stream
      .drained()
      .then(() => this.#goOn())
      .catch((error: unknown) => this.#x.writeLog(`the response could not be passed on: ${String(error)}`));
  }

  #queue(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= this.#aheadBytes) this.#hold();
  }

  #hold(): void {
    if (this.#isPaused || this.#isOver !== 'no') return;
    this.#isPaused = true;
    this.#source.pause();
  }

  /** Called when the client has taken all bytes that were written. */
  #goOn(): void {
    this.#isBlocked = false;
    this.#writeWaiting();
    if (this.#isBlocked) return;
    if (this.#isOver !== 'no') return this.#finish();
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#source.resume();
    }
  }

  #writeWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const bytes of waiting) {
      if (this.#isBlocked) this.#queue(bytes);
      else this.#write(bytes);
    }
  }

  #finish(): void {
    if (this.#isOver === 'whole') this.#stream?.end();
    else this.#x.abort();
  }
}

/** Passes on a range of a body. */
export class RangeTaker implements BodyTaker {
  readonly #taker: BodyTaker;
  /** Bytes left before the range, and in it. */
  #before: number;
  #left: number;

  constructor(taker: BodyTaker, { from, to }: { readonly from: number; readonly to: number }) {
    this.#taker = taker;
    this.#before = from;
    this.#left = to - from;
  }

  piece(bytes: Buffer): void {
    const part = bytes.subarray(this.#before, this.#before + this.#left);
    this.#before = Math.max(this.#before - bytes.length, 0);
    this.#left -= part.length;
    if (part.length > 0) this.#taker.piece(part);
  }

  follow(): void {
    this.#taker.follow();
  }

  end(): void {
    this.#taker.end();
  }

  /** If the upstream failed after the range, the client has all of it. */
  cut(): void {
    if (this.#left > 0) this.#taker.cut();
    else this.#taker.end();
  }

  drop(): void {
    this.#taker.drop();
  }
}

/** The pace of a body (`proxy_limit_rate`). */
export interface Pace {
  /** 0: no limit. */
  readonly bytesPerSecond: number;
  /** Bytes that are passed on at once. */
  readonly burstBytes: number;
}

/**
 * Applies `proxy_limit_rate` to the taker that `make` gives. While bytes wait for their time, nothing is read from the
 * source.
 */
export function pacedBody<Taker extends BodyTaker | undefined>(
  source: Source,
  pace: Pace,
  make: (source: Source) => Taker,
): Taker | PacedBody {
  if (pace.bytesPerSecond === 0) return make(source);
  const paced = new PacedBody(source, pace);
  const taker = make(paced);
  if (!taker) return taker;
  paced.taker = taker;
  return paced;
}

/** No limit. */
export const UNPACED: Pace = { bytesPerSecond: 0, burstBytes: 0 };

/** Stands between a source and a taker: it is the taker of one and the source of the other. */
class PacedBody implements BodyTaker, Source {
  taker: BodyTaker | undefined = undefined;
  readonly #source: Source;
  readonly #pace: Pace;
  readonly #startedMs = performance.now();
  #passedBytes = 0;
  #waiting: Buffer[] = [];
  #timer: NodeJS.Timeout | undefined = undefined;
  #isHeldByTaker = false;
  #isOver = false;

  constructor(source: Source, pace: Pace) {
    this.#source = source;
    this.#pace = pace;
  }

  get trailers(): readonly string[] {
    return this.#source.trailers;
  }

  pause(): void {
    this.#isHeldByTaker = true;
    if (!this.#timer) this.#source.pause();
  }

  resume(): void {
    this.#isHeldByTaker = false;
    if (!this.#timer) this.#source.resume();
  }

  piece(bytes: Buffer): void {
    this.#waiting.push(bytes);
    if (!this.#timer) this.#flow();
  }

  follow(): void {
    this.taker?.follow();
  }

  end(): void {
    this.#isOver = true;
    if (!this.#timer) this.taker?.end();
  }

  cut(): void {
    this.#stop();
    for (const bytes of this.#waiting.splice(0)) this.taker?.piece(bytes);
    this.taker?.cut();
  }

  drop(): void {
    this.taker?.drop();
    // Other takers may store the rest.
    if (!(this.taker instanceof Relay)) return;
    this.#stop();
    this.#waiting = [];
  }

  #flow(): void {
    const passedMs = performance.now() - this.#startedMs;
    const { bytesPerSecond, burstBytes } = this.#pace;
    let room = Math.floor((passedMs / 1000) * bytesPerSecond) + burstBytes - this.#passedBytes;
    while (room > 0 && this.#waiting.length > 0) {
      const bytes = this.#waiting.shift() as Buffer;
      const now = bytes.subarray(0, room);
      if (now.length < bytes.length) this.#waiting.unshift(bytes.subarray(now.length));
      room -= now.length;
      this.#passedBytes += now.length;
      this.taker?.piece(now);
    }
    if (this.#waiting.length === 0) return;
    if (!this.#isHeldByTaker && !this.#isOver) this.#source.pause();
    const dueMs = Math.ceil((this.#waiting[0]?.length ?? 0) * (1000 / bytesPerSecond));
    this.#timer = setTimeout(() => this.#goOn(), Math.min(dueMs, PACE_MS));
  }

  #goOn(): void {
    this.#timer = undefined;
    this.#flow();
    if (this.#timer) return;
    if (this.#isOver) this.taker?.end();
    else if (!this.#isHeldByTaker) this.#source.resume();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** Longest time between two portions of a paced body. */
const PACE_MS = 100;

/** Returns how many of `wantedBytes` may be read for the client of a request now (`Wire.room`). */
export function roomFor({ wire }: { readonly wire: Wire }, wantedBytes: number): number {
  return wire.room?.(wantedBytes) ?? wantedBytes;
}
