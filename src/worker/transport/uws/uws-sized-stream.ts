import type { HttpResponse } from 'uWebSockets.js';
import type { ResponseStream } from '../../../http/index.ts';
import { guarded, type StreamOwner } from '../transport.ts';
import { asBuffer, inNextTurn } from './outside-parser.ts';
import type { SpareResponse } from './websocket-opening.ts';

/** How the gateway closes the connection of a response whose length is known. */
interface ClosingRules {
  readonly spare: SpareResponse;
  readonly close: () => void;
}

/** Options of a response whose length is known. */
interface SizedRules {
  /** A client that takes nothing for this time is disconnected. */
  readonly timeoutMs: number;
  readonly lengthBytes: number;
  /** Set if the connection is closed after it. */
  readonly closing: ClosingRules | undefined;
  /** Writes the head; called once, inside a cork, together with the first bytes. */
  readonly writeHead: () => void;
  /** Ends the head of a response that is aborted before its first byte; called after `writeHead`. */
  readonly endHead: () => void;
}

/**
 * A response with `Content-Length`, sent at the client's pace: `end` would copy the whole body into memory per
 * connection.
 */
export class UwsSizedStream implements ResponseStream {
  readonly freesBytes = true;
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
    this.#rules = rules;
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

  /** Sends the head, if no byte has done so, because the connection is about to be closed. */
  sendHead(): void {
    if (this.#begun || this.#ended) return;
    this.#begun = true;
    this.#res.cork(() => {
      this.#rules.writeHead();
      this.#rules.endHead();
    });
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
    if (this.#isSingleByte) return this.#sendSingleByte(bytes);
    const precedesClose = this.#precedesClose(bytes);
    let isTaken = false;
    this.#res.cork(() => {
      const left = this.#begun ? bytes : this.#begin(bytes);
      isTaken = !precedesClose && this.#send(left);
    });
    if (isTaken) return this.#took(bytes.length);
    this.#rest = bytes;
    this.#timer ??= setTimeout(this.#cut, this.#rules.timeoutMs);
    if (precedesClose) this.#sendLast();
  }

  /** True if the connection is closed after these bytes. */
  #precedesClose(bytes: Buffer): boolean {
    return this.#rules.closing !== undefined && this.#taken + bytes.length === this.#rules.lengthBytes;
  }

  /**
   * Sends the last bytes before the connection is closed. What is taken inside a cork can stay in a buffer of
   * uWebSockets.js, which is lost with the connection. Outside any cork it prints a warning, hence the spare response.
   */
  #sendLast(): void {
    const send = guarded(this.#owner.x, (cork: HttpResponse) => {
      if (this.#rest) cork.cork(() => void this.#goOn(this.#res.getWriteOffset() - this.#startOffset));
    });
    inNextTurn(this.#owner, () => void this.#rules.closing?.spare.get().then(send, () => send(this.#res)));
  }

  /** `tryEnd` cannot close the connection after a single byte. */
  get #isSingleByte(): boolean {
    return this.#rules.closing !== undefined && this.#rules.lengthBytes === 1;
  }

  #sendSingleByte(byte: Buffer): void {
    this.#taken = 1;
    this.#ended = true;
    inNextTurn(this.#owner, () => {
      this.#res.cork(() => {
        this.#rules.writeHead();
        this.#res.end(byte, true);
      });
      this.#owner.finished();
    });
  }

  /** Writes the head. Returns the rest of the first bytes, which is still to be written. */
  #begin(bytes: Buffer): Buffer {
    this.#begun = true;
    this.#rules.writeHead();
    this.#startOffset = this.#res.getWriteOffset();
    // The first call sets the length that the client sees. It sends a byte, because 20.69 treats an empty text as the
    // whole body. `tryEnd` itself cannot close the connection.
    if (this.#rules.closing) this.#res.tryEnd(bytes.subarray(0, 1), this.#rules.lengthBytes);
    const goOn = guarded(this.#owner.x, (offset: number) => {
      if (!this.#rest || !this.#precedesClose(this.#rest)) return this.#goOn(offset - this.#startOffset);
      this.#sendLast();
      return true;
    });
    this.#res.onWritable((offset) => goOn(offset) ?? true);
    return bytes.subarray(this.#res.getWriteOffset() - this.#startOffset);
  }

  /**
   * The length passed to `tryEnd`. If the connection is to be closed, it is one that is never reached, so that the
   * response stays open until then.
   */
  get #announced(): number {
    return this.#rules.closing ? this.#rules.lengthBytes + 1 : this.#rules.lengthBytes;
  }

  /** Sends bytes; returns true if all were taken. 20.69 treats an empty text as the end of the response. */
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
    this.#rules.closing?.close();
  }
}
