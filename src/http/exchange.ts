import type { Duplex } from 'node:stream';
import { isSafeHeaderValue } from '../http1/index.ts';
import type { Level } from '../log/index.ts';
import type { BodyTransform } from './body-transform.ts';
import { isMsie } from './head.ts';
import { requestHeaderOf } from './header-list.ts';
import { rateOf, ThrottledStream } from './rate.ts';
import { redirectTarget, refreshPage } from './redirect.ts';
import type { RemoteFacts, RequestFacts, SubrequestFacts } from './request-facts.ts';
import type { StateHolder, StateKey } from './request-state.ts';
import { ResponseHead } from './response-head.ts';
import type { ResponseSettings } from './response-settings.ts';
import { FilteredStream, type ResponseStream, transformWhole, writePieces } from './response-stream.ts';
import { KEPT_TYPE } from './response-type.ts';
import { describeFailure, endsConnection, HttpFault, ownPage, statusOnWire } from './status.ts';
import { takeBody } from './take-body.ts';
import { encodeLocation } from './uri.ts';
import type { PieceReceiver, Wire } from './wire.ts';

/**
 * One step of a request. It returns a promise only if it waits. A step that answers (`x.end`, `x.send` …) ends its phase.
 * What it throws becomes a 500, or the status of an `HttpFault`.
 */
export type Handler = (x: Exchange) => void | Promise<void>;

/** Decides for each response whether to transform its body. The header filters have run by then. */
export interface BodyFilter {
  /** Only looks: at the status, `responseType`, `responseLength` and the headers. */
  wants(x: Exchange): boolean;
  /** May change response headers; the length is dropped afterwards. */
  open(x: Exchange): BodyTransform;
}

/** Sends a request to another place of its server. What it gives never rejects. */
export interface Router {
  /** By URI with its query, through the server's rewrites and locations. */
  toUri(x: Exchange, target: string): void | Promise<void>;
  /** By a decoded path, which may have a `?` in it; the query stays. */
  toPath(x: Exchange, path: string): void | Promise<void>;
  toNamed(x: Exchange, name: string): void | Promise<void>;
  /** Resolves when the subrequest has its response, which its exchange has but for the body. */
  subrequest(parent: Exchange, facts: SubrequestFacts): Promise<Exchange>;
}

/** Follows requests that are explained, not served. */
export interface ExchangeWatch {
  /** It has come to another place: `x.rules` are the rules of that. */
  enters(x: Exchange): void;
  ends(x: Exchange, status: number): void;
  redirects(x: Exchange, target: string): void;
}

/** What the response to a request follows; the compile stage makes one per location and worker. */
export interface ResponseRules extends ResponseSettings {
  /** In the place of `serverToken`, where that depends on the request. */
  readonly serverTokenOf?: ((x: Exchange) => string) | undefined;
  /** In order. */
  readonly filters: readonly ((x: Exchange) => void)[];
  /** In the order in which a body passes them. */
  readonly bodyFilters: readonly BodyFilter[];
  readonly logs: readonly ((x: Exchange) => void)[];
  /** Answers a body that is too large in the location's own form; without it the 413 page. */
  readonly tooLarge?: Handler | undefined;
  /** What `error_page` does for a status, if anything. */
  readonly errorPages?: ReadonlyMap<number, Handler> | undefined;
  /** The way around in the server. */
  readonly router: Router;
  /** Tells the error log; as an `error` unless another level is given. */
  readonly warn: (message: string, x: Exchange, level?: Level) => void;
  /** Where subrequests are logged (`log_subrequest`): what logs them. */
  readonly subrequestLogs: readonly ((x: Exchange) => void)[];
  /** Absent in a worker. */
  readonly watch?: ExchangeWatch | undefined;
}

/** Where an exchange comes from. */
export interface Origin {
  readonly wire: Wire;
  readonly rules: ResponseRules;
  /** The request that a subrequest is for. */
  readonly parent?: Exchange;
}

/** One request and its response. After the response, or when the client has left, every method that writes does nothing. */
export class Exchange implements StateHolder {
  rules: ResponseRules;
  readonly wire: Wire;
  /** What came; it never changes. */
  readonly request: RequestFacts;
  readonly response: ResponseHead;
  /** GET after an `error_page` redirect, whatever the client sent. */
  method: string;
  /** Decoded and normalised: `$uri`. Rewrites and internal redirects change it. */
  uri: string;
  /** `uri` is still what the client sent. */
  isOriginalUri = true;
  /** Raw query without the `?`. */
  args: string;
  /** Milliseconds since the epoch. */
  readonly startedMs: number = Date.now();
  /** `server_name` of the server that answers. */
  serverName = '';
  /** It may enter `internal` locations: it was rewritten or redirected internally. */
  internal = false;
  internalRedirects = 0;
  /** Values of `set` and of named captures; the compile stage hands out the slots. */
  slots: (string | undefined)[] | undefined = undefined;
  /** The last regex match: `$1` … `$9`. */
  captures: RegExpExecArray | undefined = undefined;

  /** 0 until the response is decided; 499 where the client did not wait for it. */
  status = 0;
  bodyBytesSent = 0;
  /** The connection closes behind the response. */
  closing = false;
  /** Replaces the status of the response while an `error_page` is served; 0: none. */
  errorStatus = 0;
  inErrorPage = false;
  /** Whatever happens now is answered with a built-in page. */
  errorPagesEnded = false;
  /** What the configuration adds to the response could not be made: it is answered without any of that. */
  failed = false;
  /** Answered, or nobody is left to answer: the phases stop. */
  done = false;
  aborted = false;

  private readonly parent: Exchange | undefined;
  private remote: RemoteFacts | undefined = undefined;
  private stateByKey: Map<symbol, unknown> | undefined = undefined;
  private abortListeners: (() => void)[] | undefined = undefined;
  private endListeners: (() => void)[] | undefined = undefined;

  constructor(request: RequestFacts, { wire, rules, parent }: Origin) {
    this.request = request;
    this.response = new ResponseHead(this);
    this.wire = wire;
    this.rules = rules;
    this.parent = parent;
    this.method = request.method;
    this.uri = request.uri;
    this.args = request.args;
  }

  /** The client's exchange: a subrequest has another one. */
  get main(): Exchange {
    return this.parent?.main ?? this;
  }

  /** The client's address: the peer's, or what a trusted proxy told. */
  get remoteAddress(): string {
    return this.remote?.address ?? this.wire.peerAddress;
  }

  get remotePort(): number {
    return this.remote?.port ?? this.wire.peerPort;
  }

  setRemote(remote: RemoteFacts): void {
    this.remote = remote;
  }

  /** Request header by lower-case name; repeated ones joined with `, ` (cookies `; `). Only what the build asked for. */
  header(name: string): string | undefined {
    return requestHeaderOf(this.request.headers, name);
  }

  /**
   * The whole request body. Beyond `client_max_body_size` (or `limitBytes` when smaller) it answers 413, on silence 408,
   * and gives `undefined`, as it does when the client leaves: the caller just returns.
   */
  async readBody(limitBytes?: number): Promise<Buffer | undefined> {
    if (this.request.contentLength === 0 && !this.done) return Buffer.alloc(0);
    if (this.parent) return this.parent.readBody(limitBytes);
    const outcome = await takeBody(this, { limitBytes });
    return typeof outcome === 'string' || this.done ? undefined : outcome;
  }

  /** The request body as it comes. False where `readBody` would give nothing. Either of them, once per request. */
  async readPieces(receive: PieceReceiver, limitBytes?: number): Promise<boolean> {
    if (this.request.contentLength === 0) return !this.done;
    if (this.parent) return this.parent.readPieces(receive, limitBytes);
    const outcome = await takeBody(this, { limitBytes, receive });
    return typeof outcome !== 'string' && !this.done;
  }

  /** 413, in the form of the location. */
  refuseBody(): void {
    if (this.done) return;
    const { contentLength } = this.request;
    const size = contentLength < 0 ? 'chunked body' : `body: ${contentLength} bytes`;
    this.warn(`client intended to send too large ${size}`);
    if (this.rules.tooLarge && !this.rules.errorPages?.has(413)) void this.rules.tooLarge(this);
    else this.end(413);
  }

  /** A complete response; `contentType` '' sends none. HEAD sends the head alone. */
  send(status: number, contentType: string, body: string | Uint8Array): void {
    if (this.done) return;
    try {
      this.sendWhole(status, contentType, body);
    } catch (error) {
      this.failResponse(error);
    }
  }

  private sendWhole(status: number, contentType: string, body: string | Uint8Array): void {
    const { logs, filters, bodyFilters } = this.rules;
    if (logs.length > 0 || filters.length > 0 || bodyFilters.length > 0) {
      this.response.lengthBytes = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
    }
    this.decide(status, contentType);
    if (bodyFilters.length > 0 || this.bytesPerSecond > 0 || this.endsInTrailers)
      return this.sendThrough(body);
    if (this.request.method !== 'HEAD') this.bodyBytesSent = Math.max(this.response.lengthBytes, 0);
    this.wire.write(body);
  }

  /** A whole body through filters or at a limited rate. */
  private sendThrough(body: string | Uint8Array): void {
    const transforms = this.openFilters();
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const isHead = this.request.method === 'HEAD';
    const inPieces = this.bytesPerSecond > 0 || this.endsInTrailers || (isHead && transforms.length > 0);
    const whole = inPieces ? undefined : transformWhole(bytes, transforms);
    if (whole) {
      if (!isHead) this.bodyBytesSent = whole.byteLength;
      return this.wire.write(whole);
    }
    const stream = this.begin(transforms);
    if (stream) void writePieces(stream, bytes, () => this.aborted);
  }

  /**
   * A response in pieces, with its length where it is known. `undefined` when there is nothing to write: HEAD, whose head
   * goes out, or the client is gone.
   */
  stream(status: number, contentType: string, lengthBytes = -1): ResponseStream | undefined {
    if (this.done) return undefined;
    this.response.lengthBytes = lengthBytes;
    try {
      this.decide(status, contentType);
      return this.begin(this.openFilters());
    } catch (error) {
      this.failResponse(error);
      return undefined;
    }
  }

  private begin(transforms: readonly BodyTransform[]): ResponseStream | undefined {
    let stream = this.wire.open(this.endsInTrailers ? -1 : this.response.lengthBytes);
    if (!stream) {
      for (const transform of transforms) transform.close?.();
      return undefined;
    }
    const { bytesPerSecond } = this;
    if (bytesPerSecond > 0) {
      const rate = { bytesPerSecond, afterBytes: rateOf(this)?.afterBytes ?? 0 };
      stream = new ThrottledStream(stream, rate, () => this.aborted);
    }
    if (transforms.length === 0) return stream;
    this.onAbort(() => {
      for (const transform of transforms) transform.close?.();
    });
    return new FilteredStream(stream, transforms, (error) => {
      // The head is out: it can only be told by cutting the connection.
      this.warn(`the body of an answer could not be made: ${String(error)}`);
      this.abort();
    });
  }

  /** Bytes per second of the response's body; 0: no limit. */
  private get bytesPerSecond(): number {
    return rateOf(this)?.bytesPerSecond ?? 0;
  }

  /** What the body passes on its way out; opened one by one, since each sees the head that those before it made. */
  private openFilters(): readonly BodyTransform[] {
    const open: BodyTransform[] = [];
    if (this.failed) return open;
    const { bodyFilters } = this.rules;
    for (let index = 0; index < bodyFilters.length; index++) {
      const filter = bodyFilters[index] as BodyFilter;
      if (!filter.wants(this)) continue;
      open.push(filter.open(this));
      this.response.lengthBytes = -1;
    }
    return open;
  }

  private decide(status: number, contentType: string): void {
    this.done = true;
    this.status = this.errorStatus === 0 ? status : this.errorStatus;
    this.response.type = contentType;
    // An error page has the status of the error, and with it the words for that.
    if (this.errorStatus !== 0) this.response.reason = undefined;
    if (this.failed) return;
    try {
      for (const filter of this.rules.filters) filter(this);
    } catch (error) {
      // Nothing is written yet: it can still be answered in another way.
      this.done = false;
      throw error;
    }
  }

  /** Whether a body of unknown length may come in chunks; else it ends with its connection, where the engine can do that. */
  get mayChunk(): boolean {
    return this.request.httpVersion === '1.1' && this.rules.chunks;
  }

  /** Then the response comes in chunks, also where its length is known. */
  private get endsInTrailers(): boolean {
    return (
      this.response.trailers !== undefined &&
      this.wire.sendsTrailers &&
      this.mayChunk &&
      this.request.method !== 'HEAD'
    );
  }

  /** What the `Server` header and the built-in pages say. */
  get serverToken(): string {
    const { serverToken, serverTokenOf } = this.rules;
    if (!serverTokenOf || this.failed) return serverToken;
    const token = serverTokenOf(this);
    return isSafeHeaderValue(token) ? token : serverToken;
  }

  /** Finishes with a status: its `error_page`, or the built-in page where the status has one. */
  end(status: number): void {
    if (this.done) return;
    this.rules.watch?.ends(this, status);
    if (endsConnection(status) || (status === 413 && this.wire.lingers)) this.closing = true;
    const handler = this.errorPagesEnded || this.failed ? undefined : this.rules.errorPages?.get(status);
    if (handler) return this.serveErrorPage(status, handler);
    const userAgent = this.rules.msiePadding ? this.header('user-agent') : undefined;
    const page = ownPage(status, this.serverToken, userAgent);
    if (page !== undefined) this.errorStatus = 0;
    this.send(statusOnWire(status), page === undefined ? '' : 'text/html', page ?? '');
  }

  /** Waits for what an internal redirect started; the compile stage never lets its promise fail. */
  private serveErrorPage(status: number, handler: Handler): void {
    this.inErrorPage = true;
    this.setState(KEPT_TYPE, '');
    if (!this.rules.recursiveErrorPages) this.errorPagesEnded = true;
    this.errorStatus = statusOnWire(status);
    void handler(this);
  }

  /** A redirect with the built-in page; whatever is not legal in a URL is escaped, so that no header line can break. */
  redirect(status: number, location: string): void {
    if (this.done) return;
    const target = encodeLocation(location);
    const mayRefresh = this.rules.msieRefresh && (status === 301 || status === 302);
    if (mayRefresh && isMsie(this.header('user-agent') ?? ''))
      return this.send(200, 'text/html', refreshPage(target));
    this.response.setHeader('Location', this.absolute(target));
    this.end(status);
  }

  /** A path with the scheme, host and port that redirects of this location name; anything else as it is. */
  absolute(target: string): string {
    return redirectTarget(this, target, this.rules.redirects);
  }

  /** Serves another place of this server instead: `/uri?args` or `@name`. */
  redirectInternally(target: string): void | Promise<void> {
    if (this.done) return;
    const { router, watch } = this.rules;
    watch?.redirects(this, target);
    return target.startsWith('@') ? router.toNamed(this, target) : router.toUri(this, target);
  }

  /** Serves the place of a decoded path instead, with the query that the request has. */
  redirectToPath(path: string): void | Promise<void> {
    if (this.done) return;
    this.rules.watch?.redirects(this, path);
    return this.rules.router.toPath(this, path);
  }

  /** Asks another place of this server, without the client's noticing. Its exchange has the status and headers. */
  subrequest(facts: SubrequestFacts): Promise<Exchange> {
    return this.rules.router.subrequest(this, facts);
  }

  /**
   * Switches to another protocol (101, with the headers that are set): from now on the bytes of `peer` are the client's.
   * False where the engine cannot; uWebSockets.js can for WebSockets.
   */
  tunnel(protocol: string, peer: Duplex): boolean {
    if (this.done || !this.wire.tunnels || this.request.httpVersion !== '1.1' || !isSafeHeaderValue(protocol))
      return false;
    this.decide(101, '');
    this.wire.tunnel(protocol, peer);
    return true;
  }

  /** Closes the connection without a response (nginx's 444); `status` is what logs say. */
  abort(status = 444): void {
    if (this.aborted) return;
    if (!this.done) this.status = status;
    this.wire.close();
  }

  /** What the configuration adds to a response could not be made: that ends this request alone, whoever called. */
  private failResponse(error: unknown): void {
    this.warn(error instanceof HttpFault ? error.message : describeFailure(error));
    if (this.aborted) return;
    if (this.failed || this.response.sentText !== undefined) return this.abort();
    this.failed = true;
    this.done = false;
    this.errorStatus = 0;
    this.response.clear();
    this.end(error instanceof HttpFault ? error.status : 500);
  }

  /** For the wire: a callback of the engine failed. This request ends with it. */
  fail(error: unknown): void {
    const hasResponse = this.done;
    try {
      this.warn(`a request could not be served: ${String(error)}`);
      this.closing = true;
      if (!hasResponse) this.end(500);
    } finally {
      if (hasResponse || !this.done) this.abort();
    }
  }

  /** For the wire: bytes of the body went out. */
  wrote(bytes: number): void {
    this.bodyBytesSent += bytes;
  }

  /** For the wire: the client is gone before the response was complete. */
  leave(): void {
    this.aborted = this.done = true;
    if (this.status === 0) {
      this.status = 499;
      this.rules.warn('client prematurely closed connection', this, 'info');
    }
    this.runListeners(this.abortListeners, 'cleaning up after a client that left');
  }

  /** For the wire, once per request: the response is sent, or nobody is left to send it to. */
  finish(): void {
    this.log();
    this.runListeners(this.endListeners, 'cleaning up after a request');
  }

  private runListeners(listeners: readonly (() => void)[] | undefined, doing: string): void {
    if (!listeners) return;
    for (const listener of listeners) {
      try {
        listener();
      } catch (error) {
        this.warn(`${doing} failed: ${String(error)}`);
      }
    }
  }

  /** Runs the log steps, often where nobody could catch. nginx logs subrequests only where it is asked to. */
  private log(): void {
    for (const step of this.parent ? this.rules.subrequestLogs : this.rules.logs) {
      try {
        step(this);
      } catch (error) {
        this.warn(`access log failed: ${String(error)}`);
      }
    }
  }

  /** Tells the error log. */
  warn(message: string): void {
    this.rules.warn(message, this);
  }

  /** Runs when the client goes away before the response is complete. */
  onAbort(listener: () => void): void {
    if (this.parent) this.parent.onAbort(listener);
    else (this.abortListeners ??= []).push(listener);
  }

  /** Runs when the request is over: its response is sent, or nobody is left to send it to. */
  onEnd(listener: () => void): void {
    if (this.parent) this.parent.onEnd(listener);
    else (this.endListeners ??= []).push(listener);
  }

  /** State that a module keeps for this request, by its own key. */
  state<T>(key: StateKey<T>): T | undefined {
    return this.stateByKey?.get(key) as T | undefined;
  }

  setState<T>(key: StateKey<T>, value: T): void {
    (this.stateByKey ??= new Map()).set(key, value);
  }
}
