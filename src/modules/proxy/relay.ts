import type { Exchange, ResponseStream } from '../../http/index.ts';

/** Where the bytes come from: held back while the client is slow. */
export interface Source {
  /** Fields behind the body, once it is complete. */
  readonly trailers: readonly string[];
  pause(): void;
  resume(): void;
}

/** How an answer goes to the client. */
export interface RelayRules {
  readonly status: number;
  readonly contentType: string;
  /** -1: nobody knows. */
  readonly lengthBytes: number;
  /** How much may wait here for a slow client before the upstream waits too. */
  readonly readAheadBytes: number;
  /** Bytes per second that are read from the upstream; 0: no limit. */
  readonly rate: number;
}

/** Up to here an answer of known length goes out in one piece. */
const WHOLE_BYTES = 65_536;

/** Passes the body of an answer on to the client, no faster than it takes it. */
export class Relay {
  private readonly x: Exchange;
  private readonly source: Source;
  private readonly rules: RelayRules;
  private stream: ResponseStream | undefined = undefined;
  /** Pieces that wait: for the rest of a small answer, or for the client. */
  private waiting: Buffer[] = [];
  private waitingBytes = 0;
  private isCollecting: boolean;
  private isBlocked = false;
  private isPaused = false;
  private isOver: 'no' | 'whole' | 'cut' = 'no';
  private paceTimer: NodeJS.Timeout | undefined = undefined;
  private totalBytes = 0;
  private last: Buffer | undefined = undefined;
  private readonly startedMs = performance.now();

  constructor(x: Exchange, source: Source, rules: RelayRules) {
    this.x = x;
    this.source = source;
    this.rules = rules;
    const { lengthBytes, readAheadBytes } = rules;
    const hasBody = x.request.method !== 'HEAD' && lengthBytes > 0;
    this.isCollecting = hasBody && lengthBytes <= WHOLE_BYTES && readAheadBytes > 0;
    if (!this.isCollecting) this.open();
  }

  piece(bytes: Buffer): void {
    this.totalBytes += bytes.length;
    if (this.rules.rate > 0) this.keepPace();
    // With the last byte the answer is over, and logged: by then the upstream's side has to be.
    if (this.totalBytes === this.rules.lengthBytes) this.last = bytes;
    else if (this.isCollecting) this.waiting.push(bytes);
    else if (this.isBlocked) this.queue(bytes);
    else this.write(bytes);
  }

  /** The answer is complete. */
  end(): void {
    clearTimeout(this.paceTimer);
    this.isOver = 'whole';
    if (this.isCollecting) return this.sendWhole();
    if (this.last && this.isBlocked) this.queue(this.last);
    else if (this.last) this.write(this.last);
    if (!this.isBlocked) this.stream?.end();
  }

  /** The upstream failed in the middle: the client gets what came, and must not take it for whole. */
  cut(): void {
    clearTimeout(this.paceTimer);
    this.isOver = 'cut';
    if (this.isCollecting) {
      this.isCollecting = false;
      this.open();
      for (const bytes of this.waiting.splice(0)) this.stream?.write(bytes);
    }
    if (!this.isBlocked) this.finish();
  }

  /** The client is gone. */
  drop(): void {
    clearTimeout(this.paceTimer);
    this.waiting = [];
  }

  private open(): void {
    const { status, contentType, lengthBytes } = this.rules;
    this.stream = this.x.stream(status, contentType, lengthBytes);
  }

  private sendWhole(): void {
    const { waiting, last = Buffer.alloc(0) } = this;
    const { status, contentType } = this.rules;
    this.x.send(status, contentType, waiting.length === 0 ? last : Buffer.concat([...waiting, last]));
  }

  private write(bytes: Buffer): void {
    if (this.stream?.write(bytes) !== false) return;
    this.isBlocked = true;
    if (this.rules.readAheadBytes === 0) this.hold();
    this.stream
      .drained()
      .then(() => this.goOn())
      .catch((error: unknown) =>
        this.x.rules.warn(`an answer could not be passed on: ${String(error)}`, this.x),
      );
  }

  private queue(bytes: Buffer): void {
    this.waiting.push(bytes);
    this.waitingBytes += bytes.length;
    if (this.waitingBytes >= this.rules.readAheadBytes) this.hold();
  }

  private hold(): void {
    if (this.isPaused || this.isOver !== 'no') return;
    this.isPaused = true;
    this.source.pause();
  }

  /** The client has taken what was written. */
  private goOn(): void {
    this.isBlocked = false;
    const { waiting } = this;
    this.waiting = [];
    this.waitingBytes = 0;
    for (const bytes of waiting) {
      if (this.isBlocked) this.queue(bytes);
      else this.write(bytes);
    }
    if (this.isBlocked) return;
    if (this.isOver !== 'no') return this.finish();
    if (this.isPaused && !this.paceTimer) {
      this.isPaused = false;
      this.source.resume();
    }
  }

  private finish(): void {
    if (this.isOver === 'whole') this.stream?.end();
    else this.x.abort();
  }

  /** `proxy_limit_rate`: rests until the bytes that came are due. */
  private keepPace(): void {
    const aheadMs = (this.totalBytes / this.rules.rate) * 1000 - (performance.now() - this.startedMs);
    if (aheadMs <= 1 || this.paceTimer) return;
    this.hold();
    this.paceTimer = setTimeout(() => {
      this.paceTimer = undefined;
      if (!this.isBlocked) this.goOn();
    }, aheadMs);
  }
}
