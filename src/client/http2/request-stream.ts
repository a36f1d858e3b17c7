import type { ClientHttp2Stream } from 'node:http2';
import { END_STREAM, HTTP2_CODES } from '../../http/index.ts';
import type { Carrier, HeadToSend } from '../carrier.ts';
import {
  closedEarly,
  invalidResponse,
  type Stage,
  timedOut,
  UnheardFault,
  UnprocessedFault,
  UpstreamFault,
} from '../fault.ts';
import type { Caller } from '../response-reader.ts';
import { SilenceTimer } from '../socket-input.ts';
import { connectionFault, errorName, measured, readFields, readStreamHead } from './stream-head.ts';

const { CANCEL, NO_ERROR, REFUSED_STREAM } = HTTP2_CODES;

/** The session ended, or has no stream left, before the request began. */
const NO_STREAM: ReadonlySet<unknown> = new Set([
  'ERR_HTTP2_INVALID_SESSION',
  'ERR_HTTP2_GOAWAY_SESSION',
  'ERR_HTTP2_OUT_OF_STREAMS',
]);

function notBegun(error: Error & { readonly code?: unknown }): UpstreamFault {
  const message = `${error.message} while sending request to upstream`;
  return NO_STREAM.has(error.code) ? new UnprocessedFault(message) : new UpstreamFault('error', message);
}

/** Maximum number of interim responses such as 103 to one request: each of them restarts `proxy_read_timeout`. */
const MAX_INTERIM_RESPONSES = 16;
const READING = 'reading response header from upstream';

/** The connection that a stream belongs to. */
export interface StreamOwner {
  /** Begins a stream. Throws if the connection accepts no more streams. */
  request(fields: readonly string[], endsHere: boolean): ClientHttp2Stream;
  /** The stream is over, and another request may take its place. */
  released(stream: RequestStream): void;
  /** Called when the peer was silent for too long: later requests use another connection. */
  suspect(): void;
  /** The peer has sent its settings, the first thing that it sends. */
  readonly hasSettings: boolean;
  /** The reason why the connection has ended; `undefined` if it has not. */
  readonly broken: ((stage: Stage) => UpstreamFault) | undefined;
}

/** One request and its response on a connection that others share. */
export class RequestStream implements Carrier {
  readonly isKept: boolean;
  bytesSent = 0;
  bytesReceived = 0;
  readonly #owner: StreamOwner;
  readonly #silence = new SilenceTimer(() => this.#timedOut());
  #stream: ClientHttp2Stream | undefined = undefined;
  #caller: Caller | undefined = undefined;
  #isSent = false;
  #hasHead = false;
  #interims = 0;
  #trailers: readonly string[] | undefined = undefined;
  #isRefused = false;
  /** True if the response has ended before its last byte. */
  #isCut: boolean | undefined = undefined;
  #error: (Error & { readonly code?: string }) | undefined = undefined;

  constructor(owner: StreamOwner, isKept: boolean) {
    this.#owner = owner;
    this.isKept = isKept;
  }

  get isOpen(): boolean {
    return this.#caller !== undefined;
  }

  get isLost(): boolean {
    return this.#owner.broken !== undefined || this.#connectionError !== undefined;
  }

  /** The fault that ended the connection, and the stream with it. */
  get #connectionError(): Error | undefined {
    return this.#error?.code === 'ERR_HTTP2_STREAM_ERROR' ? undefined : this.#error;
  }

  begin(caller: Caller, { fields = [] }: HeadToSend, body: Uint8Array | 'follows' | undefined): void {
    this.#caller = caller;
    this.bytesSent = measured(fields, Infinity, READING);
    let stream: ClientHttp2Stream;
    try {
      stream = this.#owner.request(fields, body === undefined);
    } catch (error) {
      // The caller is about to begin with the body.
      return queueMicrotask(() => this.#fail(notBegun(error as Error)));
    }
    this.#stream = stream;
    this.#watchEnd(stream);
    this.#listen(stream);
    if (typeof body === 'object') this.#end(body);
    else if (body === undefined) this.#awaitResponse(true);
  }

  /**
   * Node also ends the readable side of a stream that its peer resets without an error. Such a stream is closed by then;
   * one whose response is complete is not.
   */
  #watchEnd(stream: ClientHttp2Stream): void {
    const push = stream.push.bind(stream);
    stream.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
      if (chunk === null) this.#isCut ??= stream.closed;
      return push(chunk, encoding);
    };
  }

  #listen(stream: ClientHttp2Stream): void {
    const on = <A extends unknown[]>(event: string, act: (...args: A) => void): void =>
      void stream.on(event, (...args: A) => this.#guard(() => act(...args)));
    on('response', (_: unknown, flags: number, block: readonly string[]) => this.#readHead(block, flags));
    on('headers', (_: unknown, _flags: number, block: readonly string[]) => this.#readInterim(block));
    on('data', (bytes: Buffer) => this.#readPiece(bytes));
    on('trailers', (_: unknown, _flags: number, block: readonly string[]) => this.#readTrailers(block));
    on('end', () => this.#ended());
    on('drain', () => this.#drained());
    on('finish', () => this.#awaitResponse(true));
    // The event `close` follows.
    stream.on('error', (error: Error) => (this.#error = error));
    on('close', () => this.#fail(this.#faultOf(stream.rstCode)));
  }

  /** Handles an event unless the request is over. */
  #guard(act: () => void): void {
    if (!this.#caller) return;
    try {
      act();
    } catch (error) {
      this.#abandon(error as UpstreamFault);
    }
  }

  write(piece: Uint8Array): boolean {
    const caller = this.#caller;
    if (!caller || !this.#stream) return true;
    this.bytesSent += piece.byteLength;
    const isTaken = this.#stream.write(piece);
    if (!isTaken) this.#silence.expect(caller.sendTimeoutMs);
    return isTaken;
  }

  finish(rest?: Uint8Array): void {
    if (this.#caller && !this.#isSent) this.#end(rest);
  }

  flush(): void {}

  #end(body: Uint8Array | undefined): void {
    this.#isSent = true;
    this.bytesSent += body?.byteLength ?? 0;
    this.#stream?.end(body);
    this.#awaitResponse(false);
  }

  /** `isOut`: the whole request has been sent, as far as the peer's window allows. */
  #awaitResponse(isOut: boolean): void {
    const caller = this.#caller;
    if (!caller || this.#stream?.isPaused()) return;
    if (isOut) this.#isSent = true;
    this.#silence.expect(isOut || this.#hasHead ? caller.readTimeoutMs : caller.sendTimeoutMs);
  }

  pause(): void {
    this.#stream?.pause();
    this.#silence.rest();
  }

  resume(): void {
    const caller = this.#caller;
    if (!caller || !this.#stream?.isPaused()) return;
    this.#stream.resume();
    this.#silence.expect(caller.readTimeoutMs);
  }

  destroy(): void {
    this.#settle();
    const stream = this.#stream;
    if (!stream || stream.destroyed) return;
    this.#reset(stream);
  }

  /**
   * Resets the stream. Node.js ends a stream before it resets it, which `_final` prevents: the peer would take an
   * incomplete body for a complete one. The code is never NO_ERROR: Node.js delays such a reset until all pending data
   * has been sent, and nghttp2 asks a stream that is destroyed before that for data in an endless loop.
   */
  #reset(stream: ClientHttp2Stream): void {
    stream._final = (done) => done();
    stream.close(CANCEL);
    stream.destroy();
  }

  /** Marks the stream as refused if its number is above the last one that a GOAWAY names: the peer will not process it. */
  refuseAbove(lastId: number): void {
    const id = this.#stream?.id;
    if (id === undefined || id > lastId) this.#isRefused = true;
  }

  #readHead(block: readonly string[], flags: number): void {
    const caller = this.#caller as Caller;
    this.bytesReceived += measured(block, caller.headLimitBytes, READING);
    const isBare = (flags & END_STREAM) !== 0;
    this.#hasHead = true;
    this.#silence.expect(caller.readTimeoutMs);
    caller.head(readStreamHead(block, { method: caller.method, isBare }));
    if (this.#caller === caller && !isBare) caller.follow();
  }

  #readInterim(block: readonly string[]): void {
    const caller = this.#caller as Caller;
    this.bytesReceived += measured(block, caller.headLimitBytes, READING);
    if (++this.#interims > MAX_INTERIM_RESPONSES)
      throw invalidResponse('upstream sent too many interim responses');
    const head = readStreamHead(block, { method: caller.method, isBare: true });
    if (head.status === 103) caller.hints?.(head);
    if (this.#isSent) this.#awaitResponse(true);
  }

  #readTrailers(block: readonly string[]): void {
    const { headLimitBytes } = this.#caller as Caller;
    this.bytesReceived += measured(block, headLimitBytes, 'reading upstream');
    this.#trailers = readFields(block);
  }

  #readPiece(bytes: Buffer): void {
    const caller = this.#caller as Caller;
    this.bytesReceived += bytes.length;
    caller.piece(bytes);
    if (this.#caller === caller && !this.#stream?.isPaused()) this.#silence.expect(caller.readTimeoutMs);
  }

  #drained(): void {
    const caller = this.#caller as Caller;
    if (this.#hasHead) this.#awaitResponse(true);
    else if (!this.#isSent) this.#silence.rest();
    caller.drained();
  }

  /** The event `close` has the reason, but after a reset without an error it comes only when the body has been sent. */
  #ended(): void {
    const stream = this.#stream as ClientHttp2Stream;
    const isReset = (stream.rstCode ?? NO_ERROR) !== NO_ERROR;
    if (this.#isCut && !isReset) return this.#abandon(this.#faultOf(NO_ERROR));
    if (!this.#hasHead || isReset) return;
    const caller = this.#caller as Caller;
    this.#settle();
    // The peer has responded without the rest of the body.
    if (!stream.writableFinished) this.#reset(stream);
    caller.end(this.#trailers);
  }

  #stage(): Stage {
    if (this.#hasHead) return 'reading upstream';
    return this.#isSent ? READING : 'sending request to upstream';
  }

  #timedOut(): void {
    this.#owner.suspect();
    this.#abandon(timedOut(this.#stage()));
  }

  /** Reports to the caller why there is no response, and to the peer that none is needed. */
  #abandon(fault: UpstreamFault): void {
    const caller = this.#caller;
    this.destroy();
    caller?.fault(fault);
  }

  #faultOf(code: number | undefined): UpstreamFault {
    const stage = this.#stage();
    if (!this.#hasHead && (this.#isRefused || code === REFUSED_STREAM))
      return new UnprocessedFault(`upstream refused the stream while ${stage}`);
    const { broken, hasSettings } = this.#owner;
    const lost = broken?.(stage) ?? (this.#connectionError && connectionFault(this.#connectionError, stage));
    if (lost) return hasSettings || lost.kind !== 'error' ? lost : new UnheardFault(lost);
    if (code === undefined || code === NO_ERROR) return closedEarly(stage);
    return invalidResponse(`upstream rejected request with error ${errorName(code)}`, stage);
  }

  #fail(fault: UpstreamFault): void {
    const caller = this.#caller;
    if (!caller) return;
    this.#settle();
    caller.fault(fault);
  }

  #settle(): void {
    if (!this.#caller) return;
    this.#caller = undefined;
    this.#silence.stop();
    this.#owner.released(this);
  }
}
