import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import {
  type BodyReader,
  type ConnectionFacts,
  Exchange,
  forgetBody,
  hasNoBody,
  type PortFacts,
  type ResponseStream,
  type Wire,
  writePieces,
} from '../../../http/index.ts';
import type { NodePort } from '../node/node-port.ts';
import { joinStreams } from '../node/node-stream.ts';
import { RequestBody } from '../request-body.ts';
import { requestOf } from '../head-scan.ts';
import { guarded, type StreamOwner } from '../transport.ts';
import type { StreamHead } from './request-head.ts';
import { plainFields, responseFields } from './response-fields.ts';
import { ResponseWriter } from './response-writer.ts';
import { StreamBody } from './stream-body.ts';
import type { WaitingBytes } from './traffic.ts';

const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants;

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
}

/** The values that a connection passes to the wire of a request. */
interface ReceivedStream {
  readonly stream: ServerHttp2Stream;
  readonly head: StreamHead;
  readonly connection: StreamConnection;
  readonly open: NodePort;
}

/** One request on an HTTP/2 stream and its response. */
export class StreamWire implements Wire, StreamOwner {
  readonly x: Exchange;
  readonly sendsTrailers = true;
  readonly lingers = false;
  readonly #protocol: string | undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #head: StreamHead;
  readonly #connection: StreamConnection;
  readonly #open: NodePort;
  readonly #usage: NodePort['current']['port']['usage'];
  readonly #source: StreamBody;
  readonly #body: RequestBody | undefined;
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

  constructor({ stream, head, connection, open }: ReceivedStream) {
    const { port } = open.current;
    this.x = new Exchange(requestOf(head, connection), { wire: this, rules: port.rules });
    this.#protocol = head.protocol?.toLowerCase();
    this.#stream = stream;
    this.#head = head;
    this.#connection = connection;
    this.#open = open;
    this.#usage = port.usage;
    this.#awaitsContinue = head.expectsContinue;
    this.#source = new StreamBody(stream, this.x);
    const { contentLength } = head.facts;
    this.#body =
      contentLength === 0 ? undefined : new RequestBody(this.#source, open.silence, contentLength).start();
    this.#usage.inFlight++;
    open.connections.requests.add();
    open.connections.writing.add(1);
    this.#listen(stream);
  }

  #listen(stream: ServerHttp2Stream): void {
    const { x } = this;
    // After a reset the event `finish` follows as well.
    stream.on(
      'aborted',
      guarded(x, () => this.#leave(true)),
    );
    stream.on(
      'finish',
      guarded(x, () => this.finished()),
    );
    stream.on(
      'close',
      guarded(x, () => this.#closed()),
    );
    // The event `close` follows.
    stream.on('error', () => undefined);
  }

  get peerAddress(): string {
    return this.#connection.peerAddress;
  }

  get peerPort(): number {
    return this.#connection.peerPort;
  }

  get requestLength(): number {
    return this.#head.bytes + this.#source.receivedBytes;
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
    const reset = guarded(this.x, () => stream.close(NGHTTP2_INTERNAL_ERROR));
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
    // The exchange has already counted a whole body.
    const writer = this.#write(
      lengthBytes,
      () => undefined,
      () => writer.leftBytes,
    );
    if (body.length <= PIECE_BYTES) writer.endWith(body);
    else void writePieces(writer, Buffer.from(body as string), () => x.aborted);
  }

  open(lengthBytes: number): ResponseStream | undefined {
    if (!this.#respond(lengthBytes) || this.#isBare || lengthBytes === 0) return undefined;
    return this.#write(lengthBytes, (bytes) => this.x.wrote(bytes));
  }

  /** `kept` returns the number of bytes that wait in memory; those of files and upstreams are not read yet. */
  #write(lengthBytes: number, wrote: (bytes: number) => void, kept = (): number => 0): ResponseWriter {
    const { x } = this;
    this.#writer = new ResponseWriter(this.#stream, x, {
      lengthBytes,
      timeoutMs: x.rules.sendTimeoutMs,
      wrote,
      added: (bytes) => this.#holds(bytes + kept(), 0),
      taken: (bytes) => {
        this.#isRead ||= bytes === 0;
        this.#holds(bytes + kept(), this.#claimedBytes);
      },
      cut: () => x.abort(),
      timedOut: () => this.#timeOut(),
    });
    return this.#writer;
  }

  /** Accepts an extended CONNECT: 200 replaces the 101 of HTTP/1.1 (RFC 8441, 5). */
  tunnel(_protocol: string, peer: Duplex): void {
    const { x } = this;
    const headers = x.response.headers ?? [];
    const kept = headers.filter((_, at) => headers[at - (at % 2)]?.toLowerCase() !== 'sec-websocket-accept');
    this.#isTunnel = true;
    this.#source.count();
    this.#stream.respond(responseFields({ ...this.#common(undefined), status: 200, contentType: '' }, kept));
    joinStreams(this.#stream, peer, {
      wrote: (bytes) => x.wrote(bytes),
      ended: () => this.#finish(false),
      fail: (error) => x.fail(error),
    });
  }

  /** Called when the last byte of the response is in a frame. */
  finished(): void {
    if (this.#isTunnel || this.#isFinished) return;
    // Node.js also ends a stream that the client or the connection has aborted.
    if (!this.#isHeadOnly && this.#writer?.isComplete !== true) return this.#leave(true);
    // If trailers follow, the stream must stay open: Node.js sends none on a closed stream.
    if (!this.#hasTrailers) this.#refuseRest();
    this.#body?.drop();
    this.#finish(false);
  }

  /** Tells the client that the rest of its body is not needed (RFC 9113, 8.1). */
  #refuseRest(): void {
    if (!this.#stream.readableEnded && this.#body) this.#stream.close(NGHTTP2_NO_ERROR);
  }

  #closed(): void {
    // Node.js does not report the end of a response to HEAD, nor of one to a request whose body has been read.
    const isComplete = this.#isHeadOnly || this.#writer?.isComplete === true;
    if (isComplete && this.#stream.rstCode === NGHTTP2_NO_ERROR) this.finished();
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
    // Node.js sends them in the next turn.
    setImmediate(guarded(this.x, () => this.#refuseRest()));
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

  #timeOut(): void {
    this.x.writeLog('client timed out (110: Connection timed out) while sending response to client', 'info');
    this.close();
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
