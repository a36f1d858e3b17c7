import type { Duplex } from 'node:stream';
import type { HttpResponse } from 'uWebSockets.js';
import type { PortHandler } from '../../compile/index.ts';
import { type RequestFacts, type ResponseStream, statusLine } from '../../http/index.ts';
import { guarded } from './guarded.ts';
import { type LastAnswer, writeHeaders } from './uws/head-lines.ts';
import { type SocketState, type UwsPort, UwsRequest } from './uws-request.ts';
import { type StreamOwner, UwsSizedStream, UwsStream } from './uws/uws-stream.ts';
import { type Relayed, WebSocketRelay } from './uws/websocket-relay.ts';

/** Answers beyond this are sent piece by piece: `end` would copy all of it into memory per connection. */
const WHOLE_ANSWER_BYTES = 65_536;

/** A request on uWebSockets.js, and its answer. */
export class UwsExchange extends UwsRequest implements StreamOwner {
  private readonly socket: SocketState;
  private readonly usage: PortHandler['usage'];
  /** Still inside uWebSockets.js' route handler: corked already, and no abort can come in between. */
  private inHandler = true;
  /** The answer went out within the handler, all of it. */
  private written = false;
  private finishedOnce = false;
  private readonly handshake: UwsPort['handshake'];
  private openedStream: UwsStream | UwsSizedStream | undefined = undefined;
  /** A whole answer that goes out piece by piece; it was logged when it began. */
  private large: UwsSizedStream | undefined = undefined;

  constructor(res: HttpResponse, request: RequestFacts, open: UwsPort) {
    super(res, request, open);
    this.socket = open.socket;
    this.usage = open.port.usage;
    this.handshake = open.handshake;
    this.socket.connections.requests.add();
    this.socket.connections.writing.add(1);
  }

  abort(status = 444): void {
    if (this.aborted) return;
    if (!this.done) this.status = status;
    if (this.inHandler) this.detach();
    this.res.close();
  }

  /** The handler returns without an answer: from now on the client may leave, and writes need a cork of their own. */
  detach(): void {
    if (!this.inHandler) return;
    this.inHandler = false;
    this.usage.inFlight++;
    this.res.onAborted(guarded(this, () => this.leave()));
  }

  /** The handler is about to return: an answer that is still due must survive the client's leaving. */
  leaveHandler(): void {
    if (!this.written) this.detach();
    else if (this.inHandler) this.leaveConnection();
  }

  override tunnel(_protocol: string, peer: Duplex): boolean {
    const { handshake, res } = this;
    if (!handshake || this.done) return false;
    this.decide(101, '');
    this.detach();
    const relay = new WebSocketRelay(peer, {
      wrote: (bytes) => this.wrote(bytes),
      ended: () => this.tunnelEnded(),
      fail: (error) => this.warn(`a WebSocket could not be relayed: ${String(error)}`),
    });
    const protocol = this.responseHeader('sec-websocket-protocol') ?? '';
    for (const name of ['accept', 'protocol', 'extensions']) this.removeHeader(`sec-websocket-${name}`);
    res.cork(() => {
      res.writeStatus('101 Switching Protocols');
      if (this.responseHeaders) writeHeaders(res, this.responseHeaders);
      res.upgrade<Relayed>({ relay }, handshake.key, protocol, '', handshake.context);
    });
    return true;
  }

  private tunnelEnded(): void {
    this.log();
    this.finish();
  }

  wrote(bytes: number): void {
    this.bodyBytesSent += bytes;
  }

  finished(): void {
    if (this.openedStream) this.log();
    this.openedStream = undefined;
    this.finish();
  }

  protected writeAnswer(status: number, contentType: string, body: string | Uint8Array): void {
    this.answer(() => this.write(status, contentType, body));
  }

  private answer(write: () => void): void {
    this.body?.drop();
    if (this.inHandler) write();
    else this.res.cork(write);
  }

  private write(status: number, contentType: string, body: string | Uint8Array): void {
    if (body.length > WHOLE_ANSWER_BYTES && this.requestMethod !== 'HEAD') {
      return this.writeLarge(status, contentType, Buffer.from(body as string));
    }
    this.writeWhole(status, contentType, body);
    this.finish();
  }

  protected openStream(status: number, contentType: string, lengthBytes: number): ResponseStream | undefined {
    if (this.requestMethod === 'HEAD') {
      this.answer(() => this.writeHeadAlone(status, contentType, lengthBytes));
      return undefined;
    }
    if (lengthBytes === 0) {
      this.writeAnswer(status, contentType, '');
      return undefined;
    }
    this.detach();
    this.body?.drop();
    if (lengthBytes > 0) {
      this.openedStream = this.sized(status, contentType, lengthBytes);
      return this.openedStream;
    }
    this.res.cork(() => {
      this.writeHead(status, contentType);
      if (this.closes()) this.res.writeHeader('Connection', 'close');
    });
    this.openedStream = new UwsStream(this.res, this, this.rules.sendTimeoutMs);
    return this.openedStream;
  }

  private sized(status: number, contentType: string, lengthBytes: number): UwsSizedStream {
    const closes = this.closes();
    const writeHead = (): void => {
      this.writeHead(status, contentType);
      if (closes) this.res.writeHeader('Connection', 'close');
    };
    const timeoutMs = this.rules.sendTimeoutMs;
    return new UwsSizedStream(this.res, this, { timeoutMs, lengthBytes, closes, writeHead });
  }

  /** The head of an answer in pieces: nobody knows its length, and 0 would be a wrong one (RFC 9110, 8.6). */
  private writeHeadAlone(status: number, contentType: string, lengthBytes: number): void {
    if (lengthBytes > 0 && this.closes())
      return this.writeLast({ status, contentType, body: '', size: lengthBytes });
    this.writeHead(status, contentType);
    if (lengthBytes < 0) this.res.writeHeader('Transfer-Encoding', 'chunked');
    else if (status !== 204 && status !== 304) this.res.writeHeader('Content-Length', String(lengthBytes));
    // Where it is not the client's own wish, the client closes: `endWithoutBody` cannot.
    if (this.closes()) this.res.writeHeader('Connection', 'close');
    this.res.endWithoutBody();
    this.written = true;
    this.finish();
  }

  private writeWhole(status: number, contentType: string, body: string | Uint8Array): void {
    const bare = status === 204 || status === 304;
    const isHead = this.requestMethod === 'HEAD';
    const size = bare || !isHead ? 0 : Buffer.byteLength(body);
    if (this.closes()) return this.writeLast({ status, contentType, body: bare || isHead ? '' : body, size });
    this.writeHead(status, contentType);
    if (bare || isHead) {
      if (!bare) this.res.writeHeader('Content-Length', String(size));
      // With an argument, even `undefined`, it would write a second Content-Length.
      this.res.endWithoutBody();
    } else this.res.end(body);
    this.written = true;
  }

  /**
   * An answer that closes its connection. `endWithoutBody` cannot close; a HEAD with a length announces its body to `tryEnd`
   * and closes instead of sending it.
   */
  private writeLast({ status, contentType, body, size }: LastAnswer): void {
    this.writeHead(status, contentType);
    if (size === 0) {
      this.res.end(body, true);
      this.written = true;
      return;
    }
    this.detach();
    this.res.writeHeader('Connection', 'close');
    this.res.tryEnd('', size);
    // Inside the cork it would be lost.
    setImmediate(guarded(this, () => this.abort()));
  }

  /** A head that is written in part cannot be taken back. */
  private writeHead(status: number, contentType: string): void {
    try {
      this.writeHeadLines(status, contentType);
    } catch (error) {
      this.abort();
      throw error;
    }
  }

  private writeHeadLines(status: number, contentType: string): void {
    const { res, responseHeaders, reason } = this;
    if (status !== 200 || reason !== undefined) res.writeStatus(statusLine(status, reason));
    // A proxied answer may bring its own `Server` (`proxy_pass_header`).
    const token = this.responseHeader('server') === undefined ? this.serverToken : '';
    const { name, value } = this.socket.headLines.serverAnd(contentType, token);
    if (name !== undefined) res.writeHeader(name, value);
    if (responseHeaders) writeHeaders(res, responseHeaders);
    const { keepaliveHeader } = this.rules.connection;
    if (keepaliveHeader !== undefined && !this.closes())
      res.writeHeader('Connection', 'keep-alive').writeHeader('Keep-Alive', keepaliveHeader);
  }

  private writeLarge(status: number, contentType: string, body: Buffer): void {
    this.detach();
    this.bodyBytesSent = 0;
    this.large = this.sized(status, contentType, body.length);
    this.large.write(body);
  }

  private closes(): boolean {
    const { keepalive, closesFor } = this.rules.connection;
    const { draining, admission } = this.socket;
    return this.closing || draining || admission.isCrowded || !keepalive || closesFor?.(this) === true;
  }

  private leave(): void {
    const answered = this.done;
    this.left();
    this.openedStream?.release();
    this.large?.release();
    if (!answered || this.openedStream) this.log();
    this.finish();
  }

  private finish(): void {
    if (this.finishedOnce || this.inHandler) return;
    this.finishedOnce = true;
    this.usage.inFlight--;
    this.leaveConnection();
  }

  private leaveConnection(): void {
    this.socket.connections.writing.add(-1);
    this.over();
  }
}
