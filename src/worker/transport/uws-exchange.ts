import type { HttpResponse } from 'uWebSockets.js';
import type { PortHandler } from '../../compile/index.ts';
import { Exchange, statusLine } from '../../http/index.ts';
import type { RequestFacts, ResponseStream } from '../../http/index.ts';
import { addressText } from './address-text.ts';
import type { HeadScan } from './head-scan.ts';
import { RequestBody } from './request-body.ts';
import { UwsStream } from './uws-stream.ts';
import type { StreamOwner } from './uws-stream.ts';

/** Answers beyond this are sent piece by piece: `end` would copy all of it into memory per connection. */
const WHOLE_ANSWER_BYTES = 65_536;

/** What the exchanges of one socket share, whatever configuration serves them. */
export interface SocketState {
  /** Every answer closes its connection. */
  draining: boolean;
}

/** A request on uWebSockets.js. */
export class UwsExchange extends Exchange implements StreamOwner {
  readonly headers: readonly string[];
  readonly remotePort = 0;
  /** The connection closes after this answer. */
  closing = false;
  private readonly headBytes: number;
  private readonly res: HttpResponse;
  private readonly socket: SocketState;
  private readonly usage: PortHandler['usage'];
  private readonly body: RequestBody | undefined;
  private peer: string | undefined;
  /** Still inside uWebSockets.js' route handler: corked already, and no abort can come in between. */
  private inHandler = true;
  private finishedOnce = false;
  private openedStream: UwsStream | undefined = undefined;
  private abortListeners: (() => void)[] | undefined = undefined;

  constructor(res: HttpResponse, request: RequestFacts, { port, scan, socket }: UwsPort) {
    super(request, port.facts, port.rules);
    this.res = res;
    this.socket = socket;
    this.usage = port.usage;
    this.headers = scan.headers;
    this.headBytes = scan.headBytes;
    this.peer = port.needs.peer ? addressText(res.getRemoteAddressAsText()) : undefined;
    this.body = request.contentLength === 0 ? undefined : new RequestBody(res);
  }

  get remoteAddress(): string {
    if (this.peer === undefined) {
      try {
        this.peer = addressText(this.res.getRemoteAddressAsText());
      } catch {
        // Gone with its connection.
        this.peer = '';
      }
    }
    return this.peer;
  }

  get requestLength(): number {
    // The request line with method, target, protocol and its blanks, the headers, the empty line, the body.
    const line = this.requestMethod.length + this.requestUri.length + 12;
    return line + this.headBytes + 2 + (this.body?.receivedBytes ?? 0);
  }

  header(name: string): string | undefined {
    let joined: string | undefined;
    for (let index = 0; index < this.headers.length; index += 2) {
      if (this.headers[index] !== name) continue;
      const value = this.headers[index + 1] as string;
      joined = joined === undefined ? value : `${joined}${name === 'cookie' ? '; ' : ', '}${value}`;
    }
    return joined;
  }

  async readBody(limitBytes = Infinity): Promise<Buffer | undefined> {
    if (!this.body) return Buffer.alloc(0);
    if (this.done) return undefined;
    const limit = Math.min(limitBytes, this.rules.maxBodyBytes || Infinity);
    const outcome =
      this.contentLength > limit ? 'too large' : await this.body.read(limit, this.rules.bodyTimeoutMs);
    if (typeof outcome !== 'string') return this.done ? undefined : outcome;
    // The rest of a body of known length is swallowed, so that the client can read its 413; a chunked one may be endless.
    if (outcome === 'timeout' || this.contentLength < 0) this.closing = true;
    if (outcome === 'timeout') this.end(408);
    else if (outcome === 'too large') this.refuseBody();
    return undefined;
  }

  abort(): void {
    if (this.aborted) return;
    if (!this.done) this.status = 444;
    // Inside the handler no abort handler is there yet, and without one closing ends the process.
    if (this.inHandler) this.detach();
    this.res.close();
  }

  onAbort(listener: () => void): void {
    (this.abortListeners ??= []).push(listener);
  }

  /** The handler returns without an answer: from now on the client may leave, and writes need a cork of their own. */
  detach(): void {
    if (!this.inHandler) return;
    this.inHandler = false;
    this.usage.inFlight++;
    this.res.onAborted(() => this.leave());
  }

  wrote(bytes: number): void {
    this.bodyBytesSent += bytes;
  }

  finished(): void {
    if (this.openedStream) this.log();
    this.finish();
  }

  protected writeAnswer(status: number, contentType: string, body: string | Uint8Array): void {
    this.body?.drop();
    if (body.length > WHOLE_ANSWER_BYTES && this.requestMethod !== 'HEAD') {
      return this.writeLarge(status, contentType, Buffer.from(body as string));
    }
    if (this.inHandler) this.writeWhole(status, contentType, body);
    else this.res.cork(() => this.writeWhole(status, contentType, body));
    this.finish();
  }

  protected openStream(status: number, contentType: string): ResponseStream | undefined {
    if (this.requestMethod === 'HEAD') {
      this.writeAnswer(status, contentType, '');
      return undefined;
    }
    this.detach();
    this.body?.drop();
    this.res.cork(() => this.writeHead(status, contentType));
    this.openedStream = new UwsStream(this.res, this, this.rules.sendTimeoutMs);
    return this.openedStream;
  }

  private writeWhole(status: number, contentType: string, body: string | Uint8Array): void {
    const bare = status === 204 || status === 304;
    const size = bare || this.requestMethod !== 'HEAD' ? 0 : Buffer.byteLength(body);
    if (this.closes()) return this.writeLast({ status, contentType, body: bare ? '' : body, size });
    this.writeHead(status, contentType);
    if (!bare && this.requestMethod !== 'HEAD') return void this.res.end(body);
    if (!bare) this.res.writeHeader('Content-Length', String(size));
    // With an argument, even `undefined`, it would write a second Content-Length.
    this.res.endWithoutBody();
  }

  /**
   * An answer that closes its connection. `endWithoutBody` cannot close; a HEAD with a length announces its body to `tryEnd`
   * and closes instead of sending it.
   */
  private writeLast({ status, contentType, body, size }: LastAnswer): void {
    this.writeHead(status, contentType);
    if (size === 0) return void this.res.end(this.requestMethod === 'HEAD' ? '' : body, true);
    this.res.writeHeader('Connection', 'close');
    this.res.tryEnd('', size);
    // Inside the cork it would be lost.
    queueMicrotask(() => this.abort());
  }

  private writeHead(status: number, contentType: string): void {
    const { res, responseHeaders } = this;
    if (status !== 200) res.writeStatus(statusLine(status));
    res.writeHeader('Server', this.rules.serverToken);
    if (contentType !== '') res.writeHeader('Content-Type', contentType);
    if (responseHeaders) {
      for (let index = 0; index < responseHeaders.length; index += 2) {
        res.writeHeader(responseHeaders[index] as string, responseHeaders[index + 1] as string);
      }
    }
  }

  /** Offers the body until the client has taken all of it. */
  private writeLarge(status: number, contentType: string, body: Buffer): void {
    this.detach();
    const { res } = this;
    res.cork(() => {
      this.writeHead(status, contentType);
      if (this.closes()) res.writeHeader('Connection', 'close');
      const start = res.getWriteOffset();
      const offer = (from: number): boolean => {
        const [taken, complete] = res.tryEnd(body.subarray(from), body.byteLength);
        if (complete) this.finish();
        return taken;
      };
      if (!offer(0)) res.onWritable((offset) => offer(offset - start));
    });
  }

  private closes(): boolean {
    return this.closing || this.socket.draining || !this.rules.keepalive;
  }

  private leave(): void {
    this.aborted = true;
    this.body?.abort();
    const answered = this.done;
    if (this.status === 0) this.status = 499;
    this.done = true;
    for (const listener of this.abortListeners ?? []) listener();
    this.openedStream?.release();
    if (!answered || this.openedStream) this.log();
    this.finish();
  }

  private finish(): void {
    if (this.finishedOnce || this.inHandler) return;
    this.finishedOnce = true;
    this.usage.inFlight--;
  }
}

interface LastAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Uint8Array;
  /** Length that a HEAD announces; 0 for everything that has its body. */
  readonly size: number;
}

/** What an exchange takes from its port. */
export interface UwsPort {
  readonly port: PortHandler;
  readonly scan: HeadScan;
  readonly socket: SocketState;
}
