import type { Exchange, ResponseStream } from './http/index.ts';

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
  /** What came with the head was passed on. Without buffering, the client gets it now, even if that is the head alone. */
  follow(): void;
  /** The response is complete. */
  end(): void;
  /**
   * The upstream failed before the response was complete. The client gets the part that was received, and its connection is
   * cut.
   */
  cut(): void;
  /** The client has gone. */
  drop(): void;
}

/** How a response is sent to the client. */
interface RelayRules {
  readonly status: number;
  readonly contentType: string;
  /** -1: unknown. */
  readonly lengthBytes: number;
  /** Maximum number of bytes that are kept for a slow client before the upstream is paused. */
  readonly readAheadBytes: number;
  /** Bytes per second that are read from the upstream; 0: no limit. */
  readonly rate: number;
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
  #isCollecting: boolean;
  #isBlocked = false;
  #isPaused = false;
  #isOver: 'no' | 'whole' | 'cut' = 'no';
  readonly #pace: Pace | undefined;
  #totalBytes = 0;
  #last: Buffer | undefined = undefined;

  constructor(x: Exchange, source: Source, rules: RelayRules) {
    this.#x = x;
    this.#source = source;
    this.#rules = rules;
    this.#pace = rules.rate > 0 ? new Pace(rules.rate, () => this.#due()) : undefined;
    const { lengthBytes } = rules;
    const hasBody = x.request.method !== 'HEAD' && lengthBytes > 0;
    this.#isCollecting = hasBody && lengthBytes <= WHOLE_BYTES;
    if (!this.#isCollecting) this.#open();
  }

  piece(bytes: Buffer): void {
    this.#totalBytes += bytes.length;
    this.#pace?.read(bytes.length);
    if (this.#pace?.isAhead) this.#hold();
    // The exchange ends and is logged with the last byte, and the upstream variables must be final by then: `end` sends it.
    if (this.#totalBytes === this.#rules.lengthBytes) this.#last = bytes;
    else if (this.#isCollecting) this.#waiting.push(bytes);
    else if (this.#isBlocked) this.#queue(bytes);
    else this.#write(bytes);
  }

  follow(): void {
    if (this.#isCollecting && this.#rules.readAheadBytes === 0) this.#stopCollecting();
  }

  end(): void {
    this.#pace?.stop();
    this.#isOver = 'whole';
    if (this.#isCollecting) return this.#sendWhole();
    if (this.#last && this.#isBlocked) this.#queue(this.#last);
    else if (this.#last) this.#write(this.#last);
    if (!this.#isBlocked) this.#stream?.end();
  }

  cut(): void {
    this.#pace?.stop();
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
    this.#pace?.stop();
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
    if (this.#rules.readAheadBytes === 0) this.#hold();
    this.#stream
      .drained()
      .then(() => this.#goOn())
      .catch((error: unknown) => this.#x.writeLog(`the response could not be passed on: ${String(error)}`));
  }

  #queue(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= this.#rules.readAheadBytes) this.#hold();
  }

  #hold(): void {
    if (this.#isPaused || this.#isOver !== 'no') return;
    this.#isPaused = true;
    this.#source.pause();
  }

  /** The client has taken all that was written. */
  #goOn(): void {
    this.#isBlocked = false;
    this.#writeWaiting();
    if (this.#isBlocked) return;
    if (this.#isOver !== 'no') return this.#finish();
    if (this.#isPaused && !this.#pace?.isAhead) {
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

  #due(): void {
    if (!this.#isBlocked) this.#goOn();
  }

  #finish(): void {
    if (this.#isOver === 'whole') this.#stream?.end();
    else this.#x.abort();
  }
}

/** Applies `proxy_limit_rate`: tells when the bytes that were read are ahead of their time. */
export class Pace {
  readonly #bytesPerSecond: number;
  readonly #due: () => void;
  readonly #startedMs = performance.now();
  #totalBytes = 0;
  #timer: NodeJS.Timeout | undefined = undefined;

  /** `due` is called when reading may go on. */
  constructor(bytesPerSecond: number, due: () => void) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#due = due;
  }

  /** Reading has to wait. */
  get isAhead(): boolean {
    return this.#timer !== undefined;
  }

  /** To be called with what was read. */
  read(bytes: number): void {
    this.#totalBytes += bytes;
    const passedMs = performance.now() - this.#startedMs;
    const aheadMs = (this.#totalBytes / this.#bytesPerSecond) * 1000 - passedMs;
    if (aheadMs <= 1 || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#due();
    }, aheadMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
