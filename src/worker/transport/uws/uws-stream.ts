import type { HttpResponse } from 'uWebSockets.js';
import type { ResponseStream } from '../../../http/index.ts';
import { guarded } from '../guarded.ts';
import type { StreamOwner } from '../transport.ts';

/** A chunked response. A client that takes nothing for `timeoutMs` is disconnected. */
export class UwsStream implements ResponseStream {
  readonly #res: HttpResponse;
  readonly #owner: StreamOwner;
  readonly #timeoutMs: number;
  #waiting: { readonly resolve: () => void; readonly timer: NodeJS.Timeout } | undefined = undefined;
  #full = false;
  #ended = false;

  constructor(res: HttpResponse, owner: StreamOwner, timeoutMs: number) {
    this.#res = res;
    this.#owner = owner;
    this.#timeoutMs = timeoutMs;
    const goOn = guarded(owner.x, () => {
      this.#full = false;
      this.release();
    });
    res.onWritable(() => {
      goOn();
      return true;
    });
  }

  write(chunk: string | Uint8Array): boolean {
    // An empty chunk would end the body.
    if (this.#ended || this.#owner.x.aborted || chunk.length === 0) return !this.#full;
    this.#owner.x.wrote(typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.byteLength);
    this.#res.cork(() => {
      this.#full = !this.#res.write(chunk);
    });
    return !this.#full;
  }

  drained(): Promise<void> {
    if (!this.#full || this.#ended || this.#owner.x.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(
        guarded(this.#owner.x, () => this.#owner.x.abort()),
        this.#timeoutMs,
      );
      this.#waiting = { resolve, timer };
    });
  }

  end(): void {
    if (this.#ended || this.#owner.x.aborted) return;
    this.#ended = true;
    this.#res.cork(() => this.#res.end());
    this.#owner.finished();
  }

  /** Resolves `drained`, also after an abort, when the next write does nothing. */
  release(): void {
    clearTimeout(this.#waiting?.timer);
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }
}

/** Options of a response whose length is known. */
interface SizedRules {
  /** A client that takes nothing for this time is disconnected. */
  readonly timeoutMs: number;
  readonly lengthBytes: number;
  /** The connection is closed after it. */
  readonly closes: boolean;
  /** Writes the head; called once, inside a cork, together with the first bytes. */
  readonly writeHead: () => void;
}

/**
 * A response with `Content-Length`, sent at the client's pace: `end` would copy the whole body into memory per
 * connection.
 */
export class UwsSizedStream implements ResponseStream {
  readonly #res: HttpResponse;
  readonly #owner: StreamOwner;
  readonly #rules: SizedRules;
  /** The bytes that the client has not taken yet. */
  #rest: Buffer | undefined = undefined;
  #taken = 0;
  #begun = false;
  #ended = false;
  #startOffset = 0;
  #timer: NodeJS.Timeout | undefined = undefined;
  #waiting: (() => void)[] = [];
  readonly #cut: () => void;

  constructor(res: HttpResponse, owner: StreamOwner, rules: SizedRules) {
    this.#res = res;
    this.#owner = owner;
    // After a single byte the client closes, because the head says so.
    this.#rules = rules.lengthBytes > 1 ? rules : { ...rules, closes: false };
    this.#cut = guarded(owner.x, () => owner.x.abort());
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#ended || this.#owner.x.aborted || chunk.length === 0) return !this.#rest;
    const handed = this.#taken + (this.#rest?.length ?? 0);
    const bytes = asBuffer(chunk).subarray(0, this.#rules.lengthBytes - handed);
    this.#owner.x.wrote(bytes.length);
    if (this.#rest) this.#rest = Buffer.concat([this.#rest, bytes]);
    else this.#offer(bytes);
    return !this.#rest;
  }

  drained(): Promise<void> {
    if (!this.#rest || this.#owner.x.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /**
   * Ends the body. If it is shorter than its length, the connection is closed, so that the client does not take it for
   * complete.
   */
  end(): void {
    if (this.#ended || this.#owner.x.aborted) return;
    this.#ended = true;
    if (this.#taken + (this.#rest?.length ?? 0) < this.#rules.lengthBytes) this.#owner.x.abort();
  }

  /** Resolves `drained`, also after an abort, when the next write does nothing. */
  release(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#rest = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #offer(bytes: Buffer): void {
    let isTaken = false;
    this.#res.cork(() => {
      const left = this.#begun ? bytes : this.#begin(bytes);
      isTaken = this.#send(left);
    });
    if (isTaken) return this.#took(bytes.length);
    this.#rest = bytes;
    this.#timer ??= setTimeout(this.#cut, this.#rules.timeoutMs);
  }

  /** Writes the head. Returns those of the first bytes that are still to be written. */
  #begin(bytes: Buffer): Buffer {
    this.#begun = true;
    this.#rules.writeHead();
    this.#startOffset = this.#res.getWriteOffset();
    // The first call sets the length that the client sees. It takes a byte, since 20.69 takes an empty text for the whole.
    // `tryEnd` itself cannot close the connection.
    if (this.#rules.closes) this.#res.tryEnd(bytes.subarray(0, 1), this.#rules.lengthBytes);
    const goOn = guarded(this.#owner.x, (offset: number) => this.#goOn(offset - this.#startOffset));
    this.#res.onWritable((offset) => goOn(offset) ?? true);
    return bytes.subarray(this.#res.getWriteOffset() - this.#startOffset);
  }

  /**
   * If the connection is to be closed, `tryEnd` gets a length that is never reached, so that the response stays open
   * until then.
   */
  get #announced(): number {
    return this.#rules.closes ? this.#rules.lengthBytes + 1 : this.#rules.lengthBytes;
  }

  /** Offers bytes; returns whether all were taken. 20.69 takes an empty text for the end of the response. */
  #send(bytes: Buffer): boolean {
    if (bytes.length === 0) return true;
    const [isTaken] = this.#res.tryEnd(bytes, this.#announced);
    return isTaken;
  }

  #goOn(sentBytes: number): boolean {
    const rest = this.#rest;
    if (!rest) return true;
    this.#timer?.refresh();
    const left = rest.subarray(sentBytes - this.#taken);
    const isTaken = this.#send(left);
    if (isTaken) this.#took(rest.length);
    else {
      this.#taken = sentBytes;
      this.#rest = left;
    }
    return isTaken;
  }

  #took(bytes: number): void {
    this.#taken += bytes;
    this.release();
    if (this.#taken < this.#rules.lengthBytes) return;
    this.#ended = true;
    this.#owner.finished();
    // Closing inside a cork would lose bytes that are not sent yet.
    if (this.#rules.closes) setImmediate(this.#cut);
  }
}

function asBuffer(chunk: string | Uint8Array): Buffer {
  return typeof chunk === 'string'
    ? Buffer.from(chunk)
    : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}
