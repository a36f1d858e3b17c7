import type { Duplex } from 'node:stream';
import {
  type BodyReader,
  Exchange,
  forgetBody,
  hasNoBody,
  type ResponseStream,
  statusLine,
  type Wire,
} from '../../../http/index.ts';
import { headerLines, NO_LENGTH, responseLine } from '../../../http1/index.ts';
import { requestOf } from '../head-scan.ts';
import { RequestBody } from '../request-body.ts';
import { guarded, type StreamOwner } from '../transport.ts';
import type { Head } from './head-reader.ts';
import type { ExchangeConnection, NodePort, ReceivedRequest } from './node-port.ts';
import { type BodyEnd, joinStreams, NodeStream } from './node-stream.ts';
import type { RequestSource } from './request-source.ts';

/** Larger bodies are sent in pieces, at the client's pace. */
const PIECE_BYTES = 65_536;

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const KEPT_ALIVE = 'Connection: keep-alive\r\n';

const always = (): boolean => true;

/** One request on the node engine and its response. */
export class NodeWire implements Wire, StreamOwner {
  readonly x: Exchange;
  readonly sendsTrailers = true;
  readonly lingers = true;
  readonly tunnels = always;
  readonly #head: Head;
  readonly #connection: ExchangeConnection;
  readonly #nodePort: NodePort;
  readonly #usage: NodePort['current']['port']['usage'];
  readonly #source: RequestSource;
  readonly #body: RequestBody | undefined;
  #awaitsContinue: boolean;
  #stream: NodeStream | undefined = undefined;
  #isFinished = false;

  constructor({ head, source, connection, open }: ReceivedRequest) {
    const { port } = open.current;
    this.x = new Exchange(requestOf(head, connection), { wire: this, rules: port.rules });
    this.#head = head;
    this.#connection = connection;
    this.#nodePort = open;
    this.#source = source;
    this.#usage = port.usage;
    this.#awaitsContinue = head.expectsContinue;
    const { contentLength } = head.facts;
    this.#body =
      contentLength === 0 ? undefined : new RequestBody(source, open.silence, contentLength).start();
    this.#usage.inFlight++;
    open.connections.requests.add();
    open.connections.writing.add(1);
  }

  get peerAddress(): string {
    return this.#connection.peerAddress;
  }

  get peerPort(): number {
    return this.#connection.peerPort;
  }

  get requestLength(): number {
    return this.#head.bytes + this.#source.wireBytes;
  }

  keepPeer(): void {
    // The connection keeps the address as long as the request lasts.
  }

  /** True if the connection is closed after this response. */
  get closes(): boolean {
    const { closing, rules } = this.x;
    const { keepalive, closesFor, maxRequests, lifeMs } = rules.connection;
    const { requests, startedMs } = this.#connection.facts;
    return (
      closing ||
      !this.#head.keepsAlive ||
      this.#nodePort.draining ||
      !keepalive ||
      requests >= maxRequests ||
      Date.now() - startedMs >= lifeMs ||
      closesFor?.(this.x) === true
    );
  }

  readBody(reader: BodyReader): void {
    this.#continue();
    this.#body?.read(reader);
  }

  close(): void {
    this.#stream?.sendHead();
    this.#connection.cut();
    this.leave();
  }

  tunnel(protocol: string, peer: Duplex): void {
    const { x } = this;
    const connection = this.#connection;
    x.response.sentText = this.#upgradeHead(protocol);
    connection.write(x.response.sentText);
    joinStreams(connection.handOver(), peer, {
      wrote: (bytes) => x.wrote(bytes),
      ended: () => this.#finish(),
      fail: (error) => x.fail(error),
    });
  }

  /** Refuses a malformed request, even in the middle of its body. */
  refuse(status: number): void {
    const { x } = this;
    x.closing = true;
    if (x.done) return x.abort();
    forgetBody(x);
    x.end(status);
    this.#body?.abort();
  }

  /** Called when the head was not complete in time. As in nginx, 408 is logged and no response is sent. */
  timeOut(): void {
    this.x.status = 408;
    this.leave();
  }

  /** Called when the client has closed the connection. */
  leave(): void {
    if (this.#isFinished) return;
    this.#body?.abort();
    this.#stream?.release();
    this.x.leave();
    this.#finish();
  }

  /** Called when the whole response is sent. */
  finished(): void {
    this.#finish();
    this.#connection.responded(this);
  }

  #finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#usage.inFlight--;
    this.#nodePort.heartbeat.beat();
    this.#nodePort.connections.writing.add(-1);
    this.x.finish();
  }

  sendHints(headers: readonly string[]): void {
    if (this.#isFinished || this.x.request.httpVersion !== '1.1') return;
    this.#connection.write(`HTTP/1.1 103 Early Hints\r\n${headerLines(headers)}\r\n`);
  }

  write(body: string | Uint8Array): void {
    const { status, request } = this.x;
    const isBare = hasNoBody(status);
    const head = this.#responseHead(isBare ? NO_LENGTH : Buffer.byteLength(body));
    if (isBare || request.method === 'HEAD') this.#connection.write(head);
    else if (body.length > PIECE_BYTES) return void this.#writePieces(head, Buffer.from(body as string));
    else if (typeof body === 'string') this.#connection.write(head + body);
    else this.#connection.write(head, body);
    this.finished();
  }

  open(lengthBytes: number): ResponseStream | undefined {
    const { x } = this;
    const isBare = hasNoBody(x.status);
    if (x.request.method === 'HEAD' || lengthBytes === 0 || isBare) {
      this.#connection.write(this.#responseHead(isBare ? NO_LENGTH : lengthBytes));
      this.finished();
      return undefined;
    }
    const framing: BodyEnd = lengthBytes > 0 ? 'length' : x.mayChunk ? 'chunked' : 'close';
    if (framing === 'close') x.closing = true;
    const head = this.#responseHead(lengthBytes, framing === 'chunked');
    this.#stream = new NodeStream(this.#connection, this, {
      head,
      framing,
      lengthBytes,
      timeoutMs: x.rules.sendTimeoutMs,
      trailers: x.response.trailers && (() => x.response.trailerFields()),
    });
    return this.#stream;
  }

  /**
   * Returns the head of the response with its fields in nginx's order; without `Content-Length` if `lengthBytes` is
   * negative. From here on, the request's body is no longer needed. It is one text of strings that exist: objects for
   * its parts would take as long as sending it.
   */
  #responseHead(lengthBytes: number, isChunked = false): string {
    const { status, closing, response, rules } = this.x;
    // A client that waits for a 100 sends its body now, so that the next request can be found (nginx).
    if (status !== 413 && !closing) this.#continue();
    this.#body?.drop();
    if (this.#head.isHttp09) return '';
    const { keepaliveHeader } = rules.connection;
    let text = this.#firstLines(statusLine(status, response.reason));
    if (response.type !== '') text += `Content-Type: ${response.type}\r\n`;
    if (lengthBytes >= 0) text += `Content-Length: ${lengthBytes}\r\n`;
    if (isChunked) text += 'Transfer-Encoding: chunked\r\n';
    if (this.closes) text += 'Connection: close\r\n';
    else
      text += keepaliveHeader === undefined ? KEPT_ALIVE : `${KEPT_ALIVE}Keep-Alive: ${keepaliveHeader}\r\n`;
    response.sentText = `${text}${headerLines(response.headers ?? [])}\r\n`;
    return response.sentText;
  }

  /** Returns the head of a 101. */
  #upgradeHead(protocol: string): string {
    const lines = this.#firstLines('101 Switching Protocols');
    const { headers = [] } = this.x.response;
    return `${lines}Connection: upgrade\r\nUpgrade: ${protocol}\r\n${headerLines(headers)}\r\n`;
  }

  /** Returns the lines that every head begins with; `line` has status and reason. */
  #firstLines(line: string): string {
    const { x } = this;
    const server = x.response.adds('server') ? x.serverToken : '';
    const text = server === '' ? responseLine(line) : `${responseLine(line)}Server: ${server}\r\n`;
    return x.response.adds('date') ? `${text}Date: ${this.#nodePort.date.text()}\r\n` : text;
  }

  async #writePieces(head: string, body: Buffer): Promise<void> {
    const { x } = this;
    const connection = this.#connection;
    connection.write(head);
    for (let at = 0; at < body.length && !x.aborted; at += PIECE_BYTES) {
      connection.write(body.subarray(at, at + PIECE_BYTES));
      if (connection.isFull) await connection.flushed(x.rules.sendTimeoutMs);
    }
    if (!x.aborted) guarded(x, () => this.finished())();
  }

  /** Sends a 100 to a client that expects it, even if its body has already arrived (nginx ngx_http_test_expect). */
  #continue(): void {
    if (this.#awaitsContinue && !this.x.aborted) this.#connection.write(CONTINUE);
    this.#awaitsContinue = false;
  }
}
