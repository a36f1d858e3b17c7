import type { Duplex } from 'node:stream';
import {
  type ConnectionFacts,
  isSafeHeaderValue,
  type ResponseStream,
  statusLine,
} from '../../../http/index.ts';
import { guarded } from '../guarded.ts';
import { ReceivedRequest } from '../received-request.ts';
import { RequestBody } from '../request-body.ts';
import type { StreamOwner } from '../uws/uws-stream.ts';
import { answerHead, type AnswerHead, type HeadFacts, upgradeHead } from './answer-head.ts';
import type { ExchangeLine, NodePort, Received } from './node-port.ts';
import type { Head } from './head-reader.ts';
import { type Framing, joinStreams, NodeStream } from './node-stream.ts';
import type { RequestSource } from './request-source.ts';

/** Beyond this a body goes out piece by piece, as the client takes it. */
const PIECE_BYTES = 65_536;

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** A request on the node engine, and its answer. */
export class NodeExchange extends ReceivedRequest implements StreamOwner {
  readonly headers: readonly string[];
  protected readonly body: RequestBody | undefined;
  private readonly head: Head;
  private readonly line: ExchangeLine;
  private readonly open: NodePort;
  private readonly usage: NodePort['current']['port']['usage'];
  private readonly source: RequestSource;
  private awaitsContinue: boolean;
  private openedStream: NodeStream | undefined = undefined;
  private finishedOnce = false;

  constructor({ head, source, line, open }: Received) {
    const { port } = open.current;
    super({ ...head.facts, serial: line.serial }, line.port, port.rules);
    this.head = head;
    this.line = line;
    this.open = open;
    this.source = source;
    this.usage = port.usage;
    this.headers = head.headers;
    this.awaitsContinue = head.expectsContinue;
    const { contentLength } = head.facts;
    this.body = contentLength === 0 ? undefined : new RequestBody(source, open.silence, contentLength);
    this.usage.inFlight++;
    open.connections.requests.add();
    open.connections.writing.add(1);
  }

  override get connection(): ConnectionFacts {
    return this.line.facts;
  }

  get peerAddress(): string {
    return this.line.peerAddress;
  }

  get peerPort(): number {
    return this.line.peerPort;
  }

  get requestLength(): number {
    return this.head.bytes + this.source.wireBytes;
  }

  /** Whether the connection ends with this answer. */
  get closes(): boolean {
    const { keepalive, closesFor, maxRequests, lifeMs } = this.rules.connection;
    return (
      this.closing ||
      !this.head.keepsAlive ||
      this.open.draining ||
      !keepalive ||
      this.connection.requests >= maxRequests ||
      Date.now() - this.connection.startedMs >= lifeMs ||
      closesFor?.(this) === true
    );
  }

  /** Whether an answer may come in chunks. */
  private get chunks(): boolean {
    return this.httpVersion === '1.1' && this.rules.chunks;
  }

  protected override get sendsTrailers(): boolean {
    return this.chunks;
  }

  override end(status: number): void {
    // The client still sends, and reads its answer while the connection lingers.
    if (status === 413) this.closing = true;
    super.end(status);
  }

  override readBody(limitBytes?: number): Promise<Buffer | undefined> {
    this.continue();
    return super.readBody(limitBytes);
  }

  override readPieces(...args: Parameters<ReceivedRequest['readPieces']>): Promise<boolean> {
    this.continue();
    return super.readPieces(...args);
  }

  abort(status = 444): void {
    if (this.aborted) return;
    if (!this.done) this.status = status;
    this.line.cut();
    this.leave();
  }

  override tunnel(protocol: string, peer: Duplex): boolean {
    if (this.done || this.httpVersion !== '1.1' || !isSafeHeaderValue(protocol)) return false;
    this.decide(101, '');
    this.line.write(upgradeHead(this.headFacts(101), protocol));
    const ended = (): void => {
      this.log();
      this.finish();
    };
    const fail = (error: unknown): void => this.fail(error);
    joinStreams(this.line.handOver(), peer, { wrote: (bytes) => this.wrote(bytes), ended, fail });
    return true;
  }

  wrote(bytes: number): void {
    this.bodyBytesSent += bytes;
  }

  finished(): void {
    if (this.openedStream) this.log();
    this.openedStream = undefined;
    this.finish();
    this.line.answered(this);
  }

  /** What comes cannot be understood, be it in the middle of the body. */
  refuse(status: number): void {
    this.closing = true;
    if (this.done) return this.abort();
    this.end(status);
    this.body?.abort();
  }

  /** The client sent no whole head in time: nginx logs 408 and says nothing. */
  timeOut(): void {
    this.status = 408;
    this.leave();
  }

  /** The client is gone. */
  leave(): void {
    if (this.finishedOnce) return;
    const answered = this.done;
    this.left();
    this.openedStream?.release();
    if (!answered || this.openedStream) this.log();
    this.finish();
  }

  protected writeAnswer(status: number, contentType: string, body: string | Uint8Array): void {
    const isBare = status === 204 || status === 304;
    const isHead = this.requestMethod === 'HEAD';
    const lengthBytes = isBare ? undefined : Buffer.byteLength(body);
    const head = this.headText(status, contentType, { lengthBytes });
    if (isBare || isHead) this.line.write(head);
    else if (body.length > PIECE_BYTES) return void this.writePieces(head, Buffer.from(body as string));
    else if (typeof body === 'string') this.line.write(head + body);
    else this.line.write(head, body);
    this.finished();
  }

  protected openStream(status: number, contentType: string, lengthBytes: number): ResponseStream | undefined {
    const isBare = status === 204 || status === 304;
    if (this.requestMethod === 'HEAD' || lengthBytes === 0 || isBare) {
      const length = lengthBytes < 0 || isBare ? undefined : lengthBytes;
      const isChunked = length === undefined && !isBare && this.chunks;
      this.line.write(this.headText(status, contentType, { lengthBytes: length, isChunked }));
      this.finished();
      return undefined;
    }
    const framing: Framing = lengthBytes > 0 ? 'length' : this.chunks ? 'chunked' : 'close';
    if (framing === 'close') this.closing = true;
    const lengthed = {
      lengthBytes: lengthBytes > 0 ? lengthBytes : undefined,
      isChunked: framing === 'chunked',
    };
    const head = this.headText(status, contentType, lengthed);
    const { sendTimeoutMs } = this.rules;
    this.openedStream = new NodeStream(this.line, this, {
      head,
      framing,
      lengthBytes,
      timeoutMs: sendTimeoutMs,
      trailers: this.trailers && (() => this.trailerFields()),
    });
    return this.openedStream;
  }

  /** The head of the answer; from here on the body of the request is not wanted any more. */
  private headText(status: number, contentType: string, body: BodyFacts): string {
    // A client that waits to be told sends its body now, and the connection stays in step (nginx).
    if (status !== 413 && !this.closing) this.continue();
    this.body?.drop();
    if (this.head.isHttp09) return '';
    this.sentHead = answerHead({ ...this.headFacts(status), ...body, contentType, closes: this.closes });
    return this.sentHead;
  }

  private headFacts(status: number): HeadFacts {
    return {
      line: statusLine(status, this.reason),
      serverToken: this.serverToken,
      date: this.open.date.text(),
      keepAlive: this.rules.connection.keepaliveHeader,
      headers: this.responseHeaders,
    };
  }

  private async writePieces(head: string, body: Buffer): Promise<void> {
    this.line.write(head);
    for (let at = 0; at < body.length && !this.aborted; at += PIECE_BYTES) {
      this.line.write(body.subarray(at, at + PIECE_BYTES));
      if (this.line.isFull) await this.line.flushed(this.rules.sendTimeoutMs);
    }
    if (!this.aborted) guarded(this, () => this.finished())();
  }

  /** `Expect: 100-continue`: the client is told to send its body. */
  private continue(): void {
    if (this.awaitsContinue && !this.aborted && this.source.wireBytes === 0) this.line.write(CONTINUE);
    this.awaitsContinue = false;
  }

  private finish(): void {
    if (this.finishedOnce) return;
    this.finishedOnce = true;
    this.usage.inFlight--;
    this.open.connections.writing.add(-1);
    this.over();
  }
}

type BodyFacts = Pick<AnswerHead, 'lengthBytes' | 'isChunked'>;
