import type { Duplex } from 'node:stream';
import type { HttpResponse } from 'uWebSockets.js';
import type { PortHandler } from '../../../compile/index.ts';
import {
  type BodyReader,
  Exchange,
  hasNoBody,
  type RequestFacts,
  type ResponseStream,
  statusLine,
  type Wire,
} from '../../../http/index.ts';
import type { Connections } from '../../../zone/index.ts';
import { type Admission, printedAddress } from '../admission.ts';
import type { HeadScan } from '../head-scan.ts';
import { RequestBody, type SilenceWatch } from '../request-body.ts';
import { guarded, type Heartbeat, type HttpDate, type StreamOwner } from '../transport.ts';
import { asBuffer } from './outside-parser.ts';
import { UwsChunkedStream } from './uws-chunked-stream.ts';
import { UwsSizedStream } from './uws-sized-stream.ts';
import type { CommonPeer } from './common-peer.ts';
import type { Relay } from './websocket-behavior.ts';
import { type Handshake, openWebSocket, type SpareResponse } from './websocket-opening.ts';

const NO_HEADERS: readonly string[] = [];
/** uWebSockets.js closes a silent connection after 10 seconds in ticks of 4, so after 8 at the earliest. */
export const ENGINE_LIMIT_MS = 8_000;

/** Larger responses are sent in pieces: `end` would copy the whole body into memory per connection. */
const WHOLE_RESPONSE_BYTES = 65_536;
/** With its head, it fits into the 16 KB of the cork buffer, see `UwsChunkedStream`. */
const WHOLE_RESPONSE_OF_UNIX_BYTES = 8_192;

/** The values that all requests of one socket share, under any configuration. */
export interface SocketState {
  /** The open WebSocket relays. */
  readonly relays: Set<Relay>;
  readonly isUnix: boolean;
  /** Every response closes its connection. */
  draining: boolean;
  /** The port is closed, and its connections with it. */
  closed: boolean;
  readonly silence: SilenceWatch;
  readonly connections: Connections;
  readonly heartbeat: Heartbeat;
  readonly admission: Admission;
  readonly peer: CommonPeer;
  readonly headLines: HeadLines;
  readonly date: HttpDate;
  readonly spare: SpareResponse;
}

/** The parts of a port that a request needs. */
export interface UwsPort {
  readonly port: PortHandler;
  readonly scan: HeadScan;
  readonly socket: SocketState;
  /** Set if the request asks for a WebSocket. */
  readonly handshake?: Handshake;
}

const CLOSE = /(?:^|[\s,])close(?:$|[\s,])/i;
const CLOSE_LENGTH = 'close'.length;

/** uWebSockets.js closes a connection for each value of five bytes, and for no other. */
function closerOf(connection: string): 'nobody' | 'engine' | 'gateway' {
  if (connection === '' || connection === 'keep-alive') return 'nobody';
  if (connection.length === CLOSE_LENGTH) return 'engine';
  return CLOSE.test(connection) ? 'gateway' : 'nobody';
}

/** One request on uWebSockets.js and its response. */
export class UwsWire implements Wire, StreamOwner {
  readonly x: Exchange;
  readonly peerPort = 0;
  readonly sendsTrailers = false;
  readonly lingers = false;
  readonly #res: HttpResponse;
  readonly #socket: SocketState;
  readonly #usage: PortHandler['usage'];
  readonly #handshake: UwsPort['handshake'];
  readonly #body: RequestBody | undefined;
  readonly #headBytes: number;
  /** Who closes the connection because the client says so. */
  readonly #closer: 'nobody' | 'engine' | 'gateway';
  /** Set while the end of the connection means that uWebSockets.js has refused the request. */
  refuse: (() => void) | undefined = undefined;
  #peer: string | undefined = undefined;
  /** True inside uWebSockets.js' route handler: the response is corked already, and no abort can occur. */
  #inHandler = true;
  /** The whole response was sent within the handler. */
  #written = false;
  #isFinished = false;
  /** The response precedes the end of the request's body: it closes its connection, but only after that end. */
  #isEarly = false;
  #hasWaited = false;
  #stream: UwsChunkedStream | UwsSizedStream | undefined = undefined;

  constructor(res: HttpResponse, request: RequestFacts, { port, scan, socket, handshake }: UwsPort) {
    this.#res = res;
    this.#socket = socket;
    this.#usage = port.usage;
    this.#handshake = handshake;
    this.#headBytes = scan.headBytes;
    this.#closer = closerOf(scan.connection);
    this.x = new Exchange(request, { wire: this, rules: port.rules });
    const { contentLength } = request;
    this.#body = contentLength === 0 ? undefined : new RequestBody(res, socket.silence, contentLength);
    socket.connections.requests.add();
    socket.connections.writing.add(1);
  }

  get peerAddress(): string {
    return (this.#peer ??= this.#readPeer());
  }

  /** Reads the address now: that is impossible after the response. */
  keepPeer(): void {
    this.#peer ??= this.#readPeer();
  }

  #readPeer(): string {
    // Afterwards the connection may have closed, and others may have been opened.
    const common = this.#inHandler ? this.#socket.peer.address : undefined;
    if (common !== undefined) return common;
    try {
      const address = this.#res.getRemoteAddress();
      // A client that has just reset its connection has no address. Access rules would treat it as a client of a Unix
      // socket.
      if (address.byteLength === 0 && !this.x.request.port.address.startsWith('unix:')) this.x.abort();
      return printedAddress(address);
    } catch {
      // The connection is closed.
      return '';
    }
  }

  get requestLength(): number {
    // Method, target, protocol and blanks of the request line, the headers, the empty line, and the body.
    const line = this.x.request.method.length + this.x.request.requestUri.length + 12;
    return line + this.#headBytes + 2 + (this.#body?.receivedBytes ?? 0);
  }

  readBody(reader: BodyReader): void {
    this.#body?.read(reader);
  }

  close(): void {
    this.detach();
    this.#stream?.sendHead();
    this.#res.close();
  }

  /**
   * Called when the handler returns without a response. From now on the client may close the connection, and writes
   * need a cork of their own.
   */
  detach(): void {
    if (!this.#inHandler) return;
    // Must not be called earlier: with a data handler uWebSockets.js removes the time limit of a connection when the
    // body ends, even after the response, and such a connection would stay open for ever.
    this.#body?.start();
    this.#outliveHandler();
  }

  #outliveHandler(): void {
    if (!this.#inHandler) return;
    this.#inHandler = false;
    this.#usage.inFlight++;
    this.#res.onAborted(guarded(this.x, () => this.#leave()));
  }

  /** Called when the handler is about to return: prepares for an abort if the response is still pending. */
  leaveHandler(): void {
    if (!this.#written) this.detach();
    else if (this.#inHandler) this.#finish();
  }

  tunnels(protocol: string): boolean {
    return this.#handshake !== undefined && protocol === 'websocket';
  }

  tunnel(_protocol: string, peer: Duplex): void {
    this.detach();
    const { x } = this;
    const opening = openWebSocket(peer, {
      x,
      res: this.#res,
      spare: this.#socket.spare,
      handshake: () => (this.#isFinished ? undefined : this.#handshake),
      writeHeaders: (headers) => writeHeaders(this.#res, headers),
      ended: () => this.finished(),
    });
    void opening.catch((error: unknown) => {
      peer.destroy();
      x.fail(error);
    });
  }

  write(body: string | Uint8Array): void {
    this.#outlastBody();
    if (!this.#hasWaited && (this.#isAhead || this.#closesInParser)) return this.#writeInNextTurn(body);
    this.#send(() => {
      if (this.#isHeadAlone) this.#writeHeadAlone(Buffer.byteLength(body));
      else if (body.length === 0 && this.#isEarly) this.#writeHeadAlone(0);
      else if (body.length > this.#mostWholeBytes || this.#isEarly) this.#writeLarge(asBuffer(body));
      else this.#writeWhole(body);
    });
  }

  /**
   * A response that closes the connection must not cut a client that is still sending, which could not read it then:
   * the body is received, and dropped, for as long as the `lingering_*` directives say.
   */
  #outlastBody(): void {
    if (this.#body !== undefined && this.#inHandler && this.#closes()) this.detach();
  }

  /** True if the response would precede the end of the request's body. */
  get #isAhead(): boolean {
    return !this.#inHandler && this.#body?.isComplete === false;
  }

  /**
   * True if a response that closes the connection could be sent inside the parser while it reads the body. The close
   * would be lost, and the bytes after the body would be served as the next request.
   */
  get #closesInParser(): boolean {
    return !this.#inHandler && this.#body !== undefined && this.#closes();
  }

  /** Writes in the next turn. By then a body that came with its head is complete, and the connection can stay open. */
  #writeInNextTurn(body: string | Uint8Array): void {
    this.#hasWaited = true;
    const write = guarded(this.x, () => this.write(body));
    setImmediate(() => {
      if (!this.#isFinished) write();
    });
  }

  #send(write: () => void): void {
    this.#dropBody();
    if (this.#inHandler) write();
    else this.#res.cork(write);
  }

  open(lengthBytes: number): ResponseStream | undefined {
    this.#outlastBody();
    if (this.#isHeadAlone) {
      this.#send(() => this.#writeHeadAlone(lengthBytes));
      return undefined;
    }
    if (lengthBytes === 0) {
      this.write('');
      return undefined;
    }
    this.#dropBody();
    this.#outliveHandler();
    if (lengthBytes > 0) return (this.#stream = this.#sized(lengthBytes));
    const closes = this.#closes();
    this.#res.cork(() => {
      this.#writeHead();
      if (closes) this.#res.writeHeader('Connection', 'close');
    });
    const timeoutMs = this.x.rules.sendTimeoutMs;
    const body = this.#isEarly ? this.#body : undefined;
    const closer = closes ? (this.#closer === 'engine' ? 'engine' : 'gateway') : undefined;
    return (this.#stream = new UwsChunkedStream(this.#res, this, {
      timeoutMs,
      isUnix: this.#socket.isUnix,
      closer,
      body,
      endHead: () => this.#endHead('Transfer-Encoding', 'chunked'),
    }));
  }

  /** Drops the body before a response. Within the handler the body has no data handler yet, and needs none. */
  #dropBody(): void {
    this.#isEarly = this.#isAhead;
    this.#body?.drop();
  }

  #sized(lengthBytes: number): UwsSizedStream {
    const closes = this.#closes();
    const writeHead = (): void => {
      this.#writeHead();
      if (closes) this.#res.writeHeader('Connection', 'close');
    };
    const timeoutMs = this.x.rules.sendTimeoutMs;
    const closing = closes ? { spare: this.#socket.spare, close: (): void => this.#closeSoon() } : undefined;
    const endHead = (): void => this.#endHead('Content-Length', String(lengthBytes));
    return new UwsSizedStream(this.#res, this, { timeoutMs, lengthBytes, closing, writeHead, endHead });
  }

  get #isHeadAlone(): boolean {
    return this.x.request.method === 'HEAD' || hasNoBody(this.x.status);
  }

  /** Sends a response without a body. If its length is unknown, the head has no length, as in nginx. */
  #writeHeadAlone(lengthBytes: number): void {
    const closes = this.#closes();
    this.#writeHead();
    if (lengthBytes >= 0 && !hasNoBody(this.x.status))
      this.#res.writeHeader('Content-Length', String(lengthBytes));
    if (closes) return this.#closeAfterHead();
    // Any argument, even `undefined`, would add a Content-Length.
    this.#res.endWithoutBody();
    this.#written = true;
    this.finished();
  }

  #writeWhole(body: string | Uint8Array): void {
    const closes = this.#closes();
    this.#writeHead();
    if (closes) this.#tellEngineCloses();
    this.#res.end(body, closes);
    this.#written = true;
    this.finished();
  }

  /** Writes the last two headers. uWebSockets.js writes values unchanged, so the empty line can stand in the last one. */
  #endHead(name: string, value: string): void {
    this.#res.writeHeader('Date', this.#socket.date.text()).writeHeader(name, `${value}\r\n`);
  }

  /**
   * Ends a head without a body, and closes the connection. `endWithoutBody` does not close it, and `end` would add a
   * Content-Length.
   */
  #closeAfterHead(): void {
    this.#outliveHandler();
    this.#endHead('Connection', 'close');
    this.#closeSoon();
    this.finished();
  }

  /** Closes the connection after a response that is sent, but that uWebSockets.js treats as incomplete. */
  #closeSoon(): void {
    const abort = guarded(this.x, () => this.x.abort());
    // Closing inside a cork would lose bytes that are not sent yet, and data handlers are called inside a cork.
    const close = (): void => void setImmediate(abort);
    const { lingering } = this.x.rules.connection;
    if (this.#isEarly && lingering.mode !== 'off') this.#body?.outlast(lingering, close);
    else close();
  }

  /** A partly written head cannot be replaced, so the connection is closed. */
  #writeHead(): void {
    try {
      this.#writeHeadLines();
    } catch (error) {
      this.x.abort();
      throw error;
    }
  }

  #writeHeadLines(): void {
    const { x } = this;
    const res = this.#res;
    const { status, response } = x;
    const { reason, headers } = response;
    if (status !== 200 || reason !== undefined) res.writeStatus(statusLine(status, reason));
    // A proxied response may have its own `Server` (`proxy_pass_header`).
    const token = response.adds('server') ? x.serverToken : '';
    writeHeaders(res, headers ?? NO_HEADERS, this.#socket.headLines.serverAnd(response.type, token));
    const { keepaliveHeader } = x.rules.connection;
    if (this.#closer === 'engine') {
      // Who closes for another reason writes the header as well.
      if (!this.#closes()) this.#tellEngineCloses();
    } else if (keepaliveHeader !== undefined && !this.#closes())
      res.writeHeader('Connection', 'keep-alive').writeHeader('Keep-Alive', keepaliveHeader);
  }

  /** Writes what uWebSockets.js writes unless the client has said it. */
  #tellEngineCloses(): void {
    if (this.#closer === 'engine') this.#res.writeHeader('Connection', 'close');
  }

  get #mostWholeBytes(): number {
    return this.#socket.isUnix ? WHOLE_RESPONSE_OF_UNIX_BYTES : WHOLE_RESPONSE_BYTES;
  }

  #writeLarge(body: Buffer): void {
    this.#outliveHandler();
    this.x.bodyBytesSent = 0;
    const stream = this.#sized(body.length);
    this.#stream = stream;
    stream.write(body);
  }

  #closes(): boolean {
    const { closing, rules } = this.x;
    const { keepalive, closesFor } = rules.connection;
    const { draining, admission } = this.#socket;
    return (
      this.#isEarly ||
      this.#closer === 'gateway' ||
      closing ||
      draining ||
      admission.isCrowded ||
      !keepalive ||
      closesFor?.(this.x) === true
    );
  }

  /** Called when the whole response is sent. */
  finished(): void {
    // Inside the handler the exchange is still in use. It is finished when the handler returns.
    if (this.#inHandler || this.#isFinished) return;
    this.#usage.inFlight--;
    this.#finish();
  }

  #finish(): void {
    this.#isFinished = true;
    this.#socket.heartbeat.beat();
    this.#socket.connections.writing.add(-1);
    this.x.finish();
  }

  /** The engine does not tell that it has closed the connection itself. */
  #timeOut(): void {
    this.x.status = 408;
    const message = 'client timed out (110: Connection timed out) while reading client request body';
    this.x.writeLog(`${message}: uWebSockets.js waits 10 s`, 'info');
  }

  /** Called when the client has closed the connection. */
  #leave(): void {
    if (this.#body && this.#body.silentMs > ENGINE_LIMIT_MS && this.x.status === 0) this.#timeOut();
    this.#body?.abort();
    this.#stream?.release();
    this.refuse?.();
    this.x.leave();
    this.finished();
  }
}

/** Limits of the cached lines, because types and server tokens may contain parts of requests. */
const MAX_TYPES = 64;
const MAX_TOKENS = 16;

/** The first header lines of a response as one header: its name, and everything after it. */
interface HeadLine {
  readonly name: string | undefined;
  readonly value: string;
}

const NO_LINE: HeadLine = { name: undefined, value: '' };

/**
 * Caches the first header lines of responses, combined into the value of one header. uWebSockets.js writes values
 * unchanged, so that both lines take one native call instead of two.
 */
export class HeadLines {
  readonly #lines = new Map<string, Map<string, HeadLine>>();

  /** Returns `Server` and `Content-Type` as one header. An empty type or token sends no such header. */
  serverAnd(contentType: string, serverToken: string): HeadLine {
    let ofToken = this.#lines.get(serverToken);
    if (!ofToken) {
      ofToken = new Map();
      if (this.#lines.size < MAX_TOKENS) this.#lines.set(serverToken, ofToken);
    }
    let line = ofToken.get(contentType);
    if (line === undefined) {
      line = joined(contentType, serverToken);
      if (ofToken.size < MAX_TYPES) ofToken.set(contentType, line);
    }
    return line;
  }
}

function joined(contentType: string, serverToken: string): HeadLine {
  if (serverToken === '')
    return { name: contentType === '' ? undefined : 'Content-Type', value: contentType };
  const type = contentType === '' ? '' : `\r\nContent-Type: ${contentType}`;
  return { name: 'Server', value: serverToken + type };
}

/**
 * Writes `first`, then the headers (name, value, …) except `Date`: uWebSockets.js sends its own. They form the value of
 * one header, because a native call takes longer than joining the texts.
 */
function writeHeaders(res: HttpResponse, headers: readonly string[], first = NO_LINE): void {
  let { name, value } = first;
  for (let index = 0; index < headers.length; index += 2) {
    const next = headers[index] as string;
    if (next.length === 4 && next.toLowerCase() === 'date') continue;
    if (name === undefined) {
      name = next;
      value = headers[index + 1] as string;
    } else value += `\r\n${next}: ${headers[index + 1] as string}`;
  }
  if (name !== undefined) res.writeHeader(name, value);
}
