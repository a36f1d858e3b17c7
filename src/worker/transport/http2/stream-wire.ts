import type { ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import {
  type BodyReader,
  type ConnectionFacts,
  Exchange,
  forgetBody,
  hasNoBody,
  HTTP2_CODES,
  type PortFacts,
  type ResponseStream,
  type Wire,
  writePieces,
} from '../../../http/index.ts';
import type { NodePort } from '../node/node-port.ts';
import { joinStreams } from '../node/node-stream.ts';
import { RequestBody } from '../request-body.ts';
import { requestOf } from '../head-scan.ts';
import { guarded } from '../transport.ts';
import type { StreamHead } from './request-head.ts';
import { plainFields, responseFields } from './response-fields.ts';
import { type BodyOwner, ResponseWriter } from './response-writer.ts';
import { StreamBody } from './stream-body.ts';
import { reportTo, type StreamObserver } from './stream-events.ts';
import type { WaitingBytes } from './traffic.ts';

const { INTERNAL_ERROR, NO_ERROR } = HTTP2_CODES;

/** Larger bodies are sent in pieces, to distinguish a slow client from one that takes nothing. */
const PIECE_BYTES = 65_536;

/** Whether the client has reset a request, and if so, whether its response had begun. */
export type Reset = 'no' | 'unanswered' | 'begun';

/** The part of a connection that the wires of its streams use. */
export interface StreamConnection {
  readonly facts: ConnectionFacts;
  readonly serial: number;
  readonly peerAddress: string;
  readonly peerPort: number;
  readonly port: PortFacts;
  /** The bytes that wait for the client on all its streams. */
  readonly waiting: WaitingBytes;
  /** Called when the response is sent or the stream is closed. */
  finished(wire: StreamWire, reset: Reset): void;
  /** Called when Node.js has closed the stream. */
  streamClosed(): void;
}

/** The values that a connection passes to the wire of a request. */
interface ReceivedStream {
  readonly stream: ServerHttp2Stream;
  readonly head: StreamHead;
  readonly connection: StreamConnection;
  readonly open: NodePort;
  readonly index: number;
}

/** One request on an HTTP/2 stream and its response. */
export class StreamWire implements Wire, StreamObserver, BodyOwner {
  readonly x: Exchange;
  readonly sendsTrailers = true;
  readonly lingers = false;
  /** Its index in the connection's list of requests. */
  index: number;
  readonly #protocol: string | undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #head: StreamHead;
  readonly #connection: StreamConnection;
  readonly #open: NodePort;
  readonly #usage: NodePort['current']['port']['usage'];
  /** Present if the request has a body or is a tunnel. */
  #source: StreamBody | undefined = undefined;
  readonly #body: RequestBody | undefined = undefined;
  #writer: ResponseWriter | undefined = undefined;
  #awaitsContinue: boolean;
  /** Bytes of this stream that wait for the client, and bytes that may be read for it. */
  #queuedBytes = 0;
  #claimedBytes = 0;
  /** The client has taken a piece of the body. */
  #isRead = false;
  #isTunnel = false;
  /** The response has no body. */
  #isHeadOnly = false;
  #hasTrailers = false;
  #isFinished = false;

  constructor({ stream, head, connection, open, index }: ReceivedStream) {
    const { port } = open.current;
    this.index = index;
    this.x = new Exchange(requestOf(head, connection), { wire: this, rules: port.rules });
    this.#protocol = head.protocol?.toLowerCase();
    this.#stream = stream;
    this.#head = head;
    this.#connection = connection;
    this.#open = open;
    this.#usage = port.usage;
    this.#awaitsContinue = head.expectsContinue;
    const { contentLength } = head.facts;
    if (contentLength !== 0) {
      this.#source = new StreamBody(stream, this.x);
      this.#body = new RequestBody(this.#source, open.silence, contentLength).start();
    }
    this.#usage.inFlight++;
    open.connections.requests.add();
    open.connections.writing.add(1);
    reportTo(stream, this);
  }

  fail(error: unknown): void {
    this.x.fail(error);
  }

  get peerAddress(): string {
    return this.#connection.peerAddress;
  }

  get peerPort(): number {
    return this.#connection.peerPort;
  }

  get requestLength(): number {
    return this.#head.bytes + (this.#source?.receivedBytes ?? 0);
  }

  /** True for an extended CONNECT. */
  get #asksTunnel(): boolean {
    return this.#protocol !== undefined;
  }

  tunnels(protocol: string): boolean {
    return protocol === this.#protocol;
  }

  keepPeer(): void {
    // The connection keeps the address as long as the request lasts.
  }

  room(wantedBytes: number): number {
    this.#holds(this.#queuedBytes, 0);
    const roomBytes = this.#connection.waiting.room(wantedBytes, this.#isRead ? 'read' : 'unread');
    this.#holds(this.#queuedBytes, roomBytes);
    return roomBytes;
  }

  #holds(queuedBytes: number, claimedBytes: number): void {
    if (this.#isFinished) return;
    this.#connection.waiting.add(queuedBytes - this.#queuedBytes + claimedBytes - this.#claimedBytes);
    this.#queuedBytes = queuedBytes;
    this.#claimedBytes = claimedBytes;
  }

  readBody(reader: BodyReader): void {
    if (this.#awaitsContinue && !this.#stream.headersSent) this.#stream.additionalHeaders({ ':status': 100 });
    this.#awaitsContinue = false;
    this.#body?.read(reader);
  }

  /** Resets the stream; the other streams of the connection go on. */
  close(): void {
    const stream = this.#stream;
    const reset = guarded(this.x, () => stream.close(INTERNAL_ERROR));
    this.#leave(false);
    // Node.js ends a stream before resetting it: a body of unknown length would appear complete.
    stream._final = (done) => done();
    // Node.js sends the head in the next turn, and not at all if the stream is reset before.
    if (stream.headersSent) setImmediate(reset);
    else reset();
  }

  /** Refuses a malformed request. */
  refuse(status: number): void {
    forgetBody(this.x);
    this.x.end(status);
  }

  sendHints(headers: readonly string[]): void {
    if (this.#isFinished || this.#stream.headersSent) return;
    this.#stream.additionalHeaders(plainFields(headers, 103));
  }

  write(body: string | Uint8Array): void {
    const lengthBytes = Buffer.byteLength(body);
    if (!this.#respond(lengthBytes) || this.#isBare || lengthBytes === 0) return;
    const { x } = this;
    const writer = this.#write(lengthBytes, true);
    if (body.length <= PIECE_BYTES) writer.endWith(body);
    else void writePieces(writer, Buffer.from(body as string), () => x.aborted);
  }

  open(lengthBytes: number): ResponseStream | undefined {
    if (!this.#respond(lengthBytes) || this.#isBare || lengthBytes === 0) return undefined;
    return this.#write(lengthBytes, false);
  }

  #write(lengthBytes: number, isWhole: boolean): ResponseWriter {
    const { silence } = this.#open;
    this.#writer = new ResponseWriter(
      this.#stream,
      { owner: this, silence },
      { lengthBytes, timeoutMs: this.x.rules.sendTimeoutMs, isWhole },
    );
    return this.#writer;
  }

  wrote(bytes: number): void {
    this.x.wrote(bytes);
  }

  added(waitingBytes: number): void {
    this.#holds(waitingBytes, 0);
  }

  taken(waitingBytes: number): void {
    this.#isRead ||= this.#stream.writableLength === 0;
    this.#holds(waitingBytes, this.#claimedBytes);
  }

  cut(): void {
    this.x.abort();
  }

  timedOut(): void {
    this.x.writeLog('client timed out (110: Connection timed out) while sending response to client', 'info');
    this.close();
  }

  /** Accepts an extended CONNECT: 200 replaces the 101 of HTTP/1.1 (RFC 8441, 5). */
  tunnel(_protocol: string, peer: Duplex): void {
    const { x } = this;
    const headers = x.response.headers ?? [];
    const kept = headers.filter((_, at) => headers[at - (at % 2)]?.toLowerCase() !== 'sec-websocket-accept');
    this.#isTunnel = true;
    this.#source ??= new StreamBody(this.#stream, x);
    this.#source.count();
    this.#stream.respond(responseFields({ ...this.#common(undefined), status: 200, contentType: '' }, kept));
    joinStreams(this.#stream, peer, {
      wrote: (bytes) => x.wrote(bytes),
      ended: () => this.#finish(false),
      fail: (error) => x.fail(error),
    });
  }

  streamFinished(): void {
    if (this.#isTunnel || this.#isFinished) return;
    // Node.js also ends a stream that the client or the connection has aborted.
    if (!this.#isResponseComplete) return this.#leave(true);
    // If trailers follow, the stream must stay open: Node.js sends none on a closed stream.
    if (this.#isHeadOnly) this.#refuseRestSoon();
    else if (!this.#hasTrailers) this.#refuseRest();
    this.#body?.drop();
    this.#finish(false);
  }

  /** The whole response has been passed to Node.js. */
  get #isResponseComplete(): boolean {
    return this.#isHeadOnly || this.#writer?.isComplete === true;
  }

  /** Tells the client that the rest of its body is not needed (RFC 9113, 8.1). */
  #refuseRest(): void {
    if (!this.#stream.readableEnded && this.#body) this.#stream.close(NO_ERROR);
  }

  /** Waits until a head or trailers are sent: Node.js does so in the next turn, and not at all once the stream is closed. */
  #refuseRestSoon(): void {
    if (this.#body) setImmediate(guarded(this.x, () => this.#refuseRest()));
  }

  streamClosed(): void {
    this.#connection.streamClosed();
    // Node.js does not report the end of a response to HEAD, nor of one to a request whose body has been read.
    if (this.#isResponseComplete && this.#stream.rstCode === NO_ERROR) this.streamFinished();
    else this.#leave(true);
  }

  /** Called when the connection is closed. */
  leave(): void {
    this.#leave(false);
  }

  /** True if the response has a head only. */
  get #isBare(): boolean {
    const { status, request } = this.x;
    return request.method === 'HEAD' || hasNoBody(status) || status === 205 || this.#asksTunnel;
  }

  /** Sends the head; `lengthBytes` is -1 if the length is unknown. Returns false if the stream is closed. */
  #respond(lengthBytes: number): boolean {
    const stream = this.#stream;
    const { x } = this;
    if (stream.destroyed || stream.closed) {
      this.#leave(false);
      return false;
    }
    // No upstream has accepted the extended CONNECT, and a 2xx would open its tunnel.
    if (this.#asksTunnel && x.status < 300) x.status = 501;
    const endStream = this.#isBare || lengthBytes === 0;
    const waitForTrailers = !endStream && x.response.trailers !== undefined;
    const fields = responseFields(this.#common(this.#announced(lengthBytes)), x.response.headers);
    this.#isHeadOnly = endStream;
    this.#hasTrailers = waitForTrailers;
    stream.respond(fields, { endStream, waitForTrailers });
    if (waitForTrailers)
      stream.on(
        'wantTrailers',
        guarded(x, () => this.#sendTrailers()),
      );
    return true;
  }

  /** Returns the length in the head; `undefined` if the head has none. */
  #announced(lengthBytes: number): number | undefined {
    const { status } = this.x;
    if (lengthBytes < 0 || hasNoBody(status) || this.#asksTunnel) return undefined;
    // Node.js sends no body with a 205 (RFC 9110, 15.3.6).
    return status === 205 ? 0 : lengthBytes;
  }

  #sendTrailers(): void {
    this.#stream.sendTrailers(plainFields(this.x.response.trailerFields()));
    this.#refuseRestSoon();
  }

  #common(lengthBytes: number | undefined): Parameters<typeof responseFields>[0] {
    const { status, serverToken, response } = this.x;
    return {
      status,
      serverToken: response.adds('server') ? serverToken : '',
      date: response.adds('date') ? this.#open.date.text() : '',
      contentType: response.type,
      lengthBytes,
    };
  }

  #leave(wasReset: boolean): void {
    if (this.#isFinished) return;
    this.#body?.abort();
    this.x.leave();
    this.#finish(wasReset);
  }

  #finish(wasReset: boolean): void {
    if (this.#isFinished) return;
    this.#holds(0, 0);
    this.#isFinished = true;
    this.#writer?.release();
    this.#usage.inFlight--;
    this.#open.heartbeat.beat();
    this.#open.connections.writing.add(-1);
    this.x.finish();
    const reset = this.#stream.headersSent ? 'begun' : 'unanswered';
    this.#connection.finished(this, wasReset ? reset : 'no');
  }
}
