import type { HttpResponse } from 'uWebSockets.js';
import type { PortHandler } from '../../compile/index.ts';
import { Exchange } from '../../http/index.ts';
import type { PieceReceiver, RequestFacts } from '../../http/index.ts';
import type { Connections } from '../../zone/index.ts';
import { addressText } from './address-text.ts';
import type { HeadLines } from './head-lines.ts';
import type { HeadScan } from './head-scan.ts';
import { RequestBody } from './request-body.ts';
import type { BodyOutcome } from './request-body.ts';
import type { SilenceWatch } from './silence-watch.ts';

/** What the exchanges of one socket share, whatever configuration serves them. */
export interface SocketState {
  /** Every answer closes its connection. */
  draining: boolean;
  readonly silence: SilenceWatch;
  readonly connections: Connections;
  readonly headLines: HeadLines;
}

/** What an exchange takes from its port. */
export interface UwsPort {
  readonly port: PortHandler;
  readonly scan: HeadScan;
  readonly socket: SocketState;
}

/** The request half of an exchange on uWebSockets.js. */
export abstract class UwsRequest extends Exchange {
  readonly headers: readonly string[];
  readonly peerPort = 0;
  protected readonly res: HttpResponse;
  protected readonly body: RequestBody | undefined;
  private readonly headBytes: number;
  private peer: string | undefined;

  protected constructor(res: HttpResponse, request: RequestFacts, { port, scan, socket }: UwsPort) {
    super(request, port.facts, port.rules);
    this.res = res;
    this.headers = scan.headers;
    this.headBytes = scan.headBytes;
    this.peer = port.needs.peer ? addressText(res.getRemoteAddressAsText()) : undefined;
    this.body =
      request.contentLength === 0 ? undefined : new RequestBody(res, socket.silence, request.contentLength);
  }

  get peerAddress(): string {
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
      if (this.headers[index] !== name && !this.isUnderscored(index, name)) continue;
      const value = this.headers[index + 1] as string;
      joined = joined === undefined ? value : `${joined}${name === 'cookie' ? '; ' : ', '}${value}`;
    }
    return joined;
  }

  /** nginx reads `X_A` as `$http_x_a` too, where such names count. */
  private isUnderscored(index: number, name: string): boolean {
    const given = this.headers[index] as string;
    return given.length === name.length && given.includes('_') && given.replaceAll('_', '-') === name;
  }

  async readBody(limitBytes?: number): Promise<Buffer | undefined> {
    if (!this.body && !this.done) return Buffer.alloc(0);
    const outcome = await this.take(limitBytes, undefined);
    return typeof outcome === 'string' || this.done ? undefined : outcome;
  }

  async readPieces(receive: PieceReceiver, limitBytes?: number): Promise<boolean> {
    if (!this.body) return !this.done;
    const outcome = await this.take(limitBytes, receive);
    return typeof outcome !== 'string' && !this.done;
  }

  /** Reads the body, whole or in pieces; what cannot be read is answered. */
  private take(limitBytes = Infinity, receive: PieceReceiver | undefined): Promise<BodyOutcome> {
    const { body, rules } = this;
    if (!body || this.done) return Promise.resolve('aborted');
    const limit = Math.min(limitBytes, rules.maxBodyBytes || Infinity);
    return new Promise((resolve, reject) => {
      const settle = (outcome: BodyOutcome): void => {
        try {
          if (typeof outcome === 'string') this.refuseUnread(outcome);
          resolve(outcome);
        } catch (error) {
          reject(error as Error);
        }
      };
      if (this.contentLength > limit) settle('too large');
      else body.read({ limitBytes: limit, timeoutMs: rules.bodyTimeoutMs, settle, receive, fail: reject });
    });
  }

  /** Nobody is left to answer. */
  protected left(): void {
    this.aborted = this.done = true;
    this.body?.abort();
    if (this.status !== 0) return;
    this.status = 499;
    this.rules.warn('client prematurely closed connection', this, 'info');
  }

  /** The rest of a body of known length is swallowed, so that the client can read its 413; a chunked one may be endless. */
  private refuseUnread(outcome: Exclude<BodyOutcome, Buffer>): void {
    if (outcome === 'timeout' || this.contentLength < 0) this.closing = true;
    if (outcome === 'timeout') this.end(408);
    else if (outcome === 'too large') this.refuseBody();
  }
}
