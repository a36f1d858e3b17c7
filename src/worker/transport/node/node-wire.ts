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
import { headerLines, responseLine } from '../../../http1/index.ts';
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

/** One request on the node engine and its response. */
export class NodeWire implements Wire, StreamOwner {
  readonly x: Exchange;
  readonly sendsTrailers = true;
  readonly lingers = true;
  readonly tunnels = (): boolean => true;
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
    x.response.sentText = upgradeHeadText(this.#headFacts(101), protocol);
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
    const head = this.#headText({ lengthBytes: isBare ? undefined : Buffer.byteLength(body) });
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
      const length = lengthBytes < 0 || isBare ? undefined : lengthBytes;
      this.#connection.write(this.#headText({ lengthBytes: length }));
      this.finished();
      return undefined;
    }
    const framing: BodyEnd = lengthBytes > 0 ? 'length' : x.mayChunk ? 'chunked' : 'close';
    if (framing === 'close') x.closing = true;
    const head = this.#headText({
      lengthBytes: lengthBytes > 0 ? lengthBytes : undefined,
      isChunked: framing === 'chunked',
    });
    this.#stream = new NodeStream(this.#connection, this, {
      head,
      framing,
      lengthBytes,
      timeoutMs: x.rules.sendTimeoutMs,
      trailers: x.response.trailers && (() => x.response.trailerFields()),
    });
    return this.#stream;
  }

  /** Returns the head of the response. From here on, the request's body is no longer needed. */
  #headText(body: Pick<ResponseHeadFields, 'lengthBytes' | 'isChunked'>): string {
    const { status, closing, response } = this.x;
    // A client that waits for a 100 sends its body now, so that the next request can be found (nginx).
    if (status !== 413 && !closing) this.#continue();
    this.#body?.drop();
    if (this.#head.isHttp09) return '';
    const { type: contentType } = response;
    response.sentText = responseHeadText({
      ...this.#headFacts(status),
      ...body,
      contentType,
      closes: this.closes,
    });
    return response.sentText;
  }

  #headFacts(status: number): CommonHeadFields {
    const { response, serverToken, rules } = this.x;
    return {
      line: statusLine(status, response.reason),
      serverToken: response.adds('server') ? serverToken : '',
      date: response.adds('date') ? this.#nodePort.date.text() : '',
      keepAlive: rules.connection.keepaliveHeader,
      headers: response.headers,
    };
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

/** The fields that every head has. */
interface CommonHeadFields {
  /** `200 OK` */
  readonly line: string;
  /** '' sends no `Server`. */
  readonly serverToken: string;
  /** '' sends no `Date`. */
  readonly date: string;
  /** Value of `Keep-Alive`; `undefined` sends none. */
  readonly keepAlive: string | undefined;
  /** Name, value, name, value … */
  readonly headers: readonly string[] | undefined;
}

/** The fields of a response's head. */
interface ResponseHeadFields extends CommonHeadFields {
  readonly contentType: string;
  /** `undefined` sends no `Content-Length`. */
  readonly lengthBytes: number | undefined;
  readonly isChunked?: boolean;
  readonly closes: boolean;
}

/** Returns a head with its fields in nginx's order, including the empty line at its end. */
function responseHeadText(head: ResponseHeadFields): string {
  let text = firstLines(head);
  if (head.contentType !== '') text += `Content-Type: ${head.contentType}\r\n`;
  if (head.lengthBytes !== undefined) text += `Content-Length: ${head.lengthBytes}\r\n`;
  if (head.isChunked) text += 'Transfer-Encoding: chunked\r\n';
  text += head.closes ? 'Connection: close\r\n' : 'Connection: keep-alive\r\n';
  if (head.keepAlive !== undefined && !head.closes) text += `Keep-Alive: ${head.keepAlive}\r\n`;
  return `${text}${headerLines(head.headers ?? [])}\r\n`;
}

/** Returns the head of a 101. */
function upgradeHeadText(facts: CommonHeadFields, protocol: string): string {
  const text = firstLines({ ...facts, line: '101 Switching Protocols' });
  return `${text}Connection: upgrade\r\nUpgrade: ${protocol}\r\n${headerLines(facts.headers ?? [])}\r\n`;
}

function firstLines({ line, serverToken, date }: CommonHeadFields): string {
  const text = serverToken === '' ? responseLine(line) : `${responseLine(line)}Server: ${serverToken}\r\n`;
  return date === '' ? text : `${text}Date: ${date}\r\n`;
}
