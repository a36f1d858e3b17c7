import type { Duplex } from 'node:stream';
import { isSafeHeaderValue, withoutBlanks } from '../http1/index.ts';
import type { Level } from '../log/index.ts';
import { type BodyFilterOf, type BodyTransform, closeTransforms, openTransforms } from './body-transform.ts';
import { requestHeaderOf } from './header-list.ts';
import type {
  Rehearsed,
  RemoteFacts,
  RequestFacts,
  RewritePhase,
  StateHolder,
  StateKey,
  SubrequestFacts,
} from './request.ts';
import { ResponseHead } from './response-head.ts';
import type { ResponseSettings, ShownRequest } from './response-settings.ts';
import { FilteredStream, type ResponseStream, transformWhole, writePieces } from './response-stream.ts';
import { headSent } from './request-times.ts';
import { KEPT_TYPE } from './response-type.ts';
import { describeFailure, endsConnection, HttpFault, isMsie, ownPage, statusOnWire } from './status.ts';
import { forgetBody, takeBody } from './take-body.ts';
import { throttled } from './throttled-stream.ts';
import type { RequestTrace } from './trace.ts';
import { encodeLocation, redirectTarget, refreshPage } from './uri.ts';
import type { PieceReceiver, Wire } from './wire.ts';

/**
 * One step of a request. It returns a promise only if it waits. A step that sends a response (`x.end`, `x.send` …) ends
 * its phase. An exception becomes a 500, or the status of an `HttpFault`.
 */
export type Handler = (x: Exchange) => void | Promise<void>;

/** Decides whether to transform the body of a response. */
export type BodyFilter = BodyFilterOf<Exchange>;

/** What header filters will make of a response with ranges: the type of each part, and `Last-Modified` in seconds. */
export interface RangeRules {
  readonly typeOfParts?: ((x: Exchange, type: string) => string) | undefined;
  readonly modified?: ((x: Exchange) => number | undefined) | undefined;
}

/** Routes a request within its server. The returned promises never reject. */
export interface Router {
  /** Takes a URI with its query, and runs the server's rewrites again. */
  toUri(x: Exchange, target: string): void | Promise<void>;
  /** Takes a decoded path, in which a `?` is an ordinary character. The query stays. */
  toPath(x: Exchange, path: string): void | Promise<void>;
  toNamed(x: Exchange, name: string): void | Promise<void>;
  /**
   * Takes a request through its rewrites and access checks, and stops before anything else. Resolves to `undefined` if
   * no location would respond, or the request has a response already.
   */
  rehearse(x: Exchange): Promise<Rehearsed | undefined>;
  /** Resolves with the subrequest's exchange, without its body, when the response is complete. */
  subrequest(parent: Exchange, facts: SubrequestFacts): Promise<Exchange>;
}

/** Observes requests that `gw explain` runs instead of serving. */
export interface ExchangeWatch {
  /** The exchange has entered a location; `x.rules` are the rules of that location. */
  enters(x: Exchange): void;
  ends(x: Exchange, status: number): void;
  redirects(x: Exchange, target: string): void;
}

/** The settings and steps of a response, compiled once per location and worker. */
export interface ResponseRules extends ResponseSettings {
  readonly shown: ShownRequest<Exchange>;
  /** Replaces `serverToken` if the token contains variables. */
  readonly serverTokenOf?: ((x: Exchange) => string) | undefined;
  /** Filters run in the order of their list. */
  readonly filters: readonly ((x: Exchange) => void)[];
  readonly bodyFilters: readonly BodyFilter[];
  readonly ranges: RangeRules;
  readonly logs: readonly ((x: Exchange) => void)[];
  /** Responds to too large a body in the location's own format. Default: the 413 page. */
  readonly tooLarge?: Handler | undefined;
  /** The handlers of `error_page`, by status. */
  readonly errorPages?: ReadonlyMap<number, Handler> | undefined;
  /** Routes requests within the server. */
  readonly router: Router;
  /** Writes to the error log; the default level is `error`. */
  readonly writeLog: (message: string, x: Exchange, level?: Level) => void;
  /** The log steps of subrequests; empty unless `log_subrequest` is on. */
  readonly subrequestLogs: readonly ((x: Exchange) => void)[];
  /** Set by `gw explain` only. */
  readonly watch?: ExchangeWatch | undefined;
}

/** `parent` is the exchange that made this subrequest. */
type ExchangeParts = Pick<Exchange, 'wire' | 'rules'> & { readonly parent?: Exchange };

/** One request and its response. After the response or an abort, methods that write do nothing. */
export class Exchange implements StateHolder {
  rules: ResponseRules;
  readonly wire: Wire;
  /** The request as received. `forgetBody` replaces it by one without a body. */
  request: RequestFacts;
  readonly response: ResponseHead;
  /** The method that handlers see: GET after an `error_page` redirect, else the client's. */
  method: string;
  /** Decoded and normalised: `$uri`. Rewrites and internal redirects change it. */
  uri: string;
  /** `uri` is still what the client sent. */
  isOriginalUri = true;
  /** Raw query without the `?`. */
  args: string;
  /** When it began and, of a stream, when its head was decided (`request-times.ts`). */
  readonly beganAt: number = performance.now();
  headAt = 0;
  /** `server_name` of the server that handles the request. */
  serverName = '';
  /** True after a rewrite or an internal redirect: the request may enter `internal` locations. */
  internal = false;
  internalRedirects = 0;
  /** `undefined` until a rewrite directive has an effect. */
  rewritePhase: RewritePhase | undefined = undefined;
  /** Values of `set` and of named captures. The compile stage assigns the indexes. */
  slots: (string | undefined)[] | undefined = undefined;
  /** The last regex match: `$1` … `$9`. */
  captures: RegExpExecArray | undefined = undefined;
  /** The trace of the client's request (`main`); `undefined` until it is decided, and if nothing decides it. */
  trace: RequestTrace | undefined = undefined;
  /** What has refused the request: a module or a directive, `head` if its head could not be read; '' if nothing has. */
  refusedBy = '';

  /** 0 until the response is decided; 499 if the client closed the connection before that. */
  status = 0;
  bodyBytesSent = 0;
  /** The connection is closed after the response. */
  closing = false;
  /** The status that a response keeps while its `error_page` is served; 0 if there is none. */
  errorStatus = 0;
  inErrorPage = false;
  /** No `error_page` applies any more: errors get the built-in pages. */
  errorPagesEnded = false;
  /** A filter failed: the response is sent without filters, added headers and error pages. */
  failed = false;
  /** The response is decided, or the client has closed the connection: no further phase runs. */
  done = false;
  aborted = false;

  readonly #parent: Exchange | undefined;
  #remote: RemoteFacts | undefined = undefined;
  #stateByKey: Map<symbol, unknown> | undefined = undefined;
  #abortListeners: (() => void)[] | undefined = undefined;
  #endListeners: (() => void)[] | undefined = undefined;

  constructor(request: RequestFacts, { wire, rules, parent }: ExchangeParts) {
    this.request = request;
    this.response = new ResponseHead(this);
    this.wire = wire;
    this.rules = rules;
    this.#parent = parent;
    this.method = request.method;
    this.uri = request.uri;
    this.args = request.args;
  }

  /** The exchange of the client's request; `this` unless it is a subrequest. */
  get main(): Exchange {
    return this.#parent?.main ?? this;
  }

  /** The client's address: that of the connection, or one that a trusted proxy sent. */
  get remoteAddress(): string {
    return this.#remote?.address ?? this.wire.peerAddress;
  }

  get remotePort(): number {
    return this.#remote?.port ?? this.wire.peerPort;
  }

  setRemote(remote: RemoteFacts): void {
    this.#remote = remote;
  }

  /** A request header by its lower-case name, if a `Build.needHeader` named it. Repeated headers are joined. */
  header(name: string): string | undefined {
    return requestHeaderOf(this.request.headers, name);
  }

  /**
   * Reads the whole request body. If it exceeds `client_max_body_size` or `limitBytes`, the client gets 413; if the
   * client stops sending, 408. In these cases, and when the client closes the connection, the result is `undefined` and
   * the caller returns.
   */
  readBody(limitBytes?: number): Promise<Buffer | undefined> {
    if (this.request.contentLength === 0 && !this.done) return Promise.resolve(Buffer.alloc(0));
    return this.#parent ? this.#parent.readBody(limitBytes) : takeBody(this, { limitBytes });
  }

  /** Reads the request body in pieces, also during a response. Returns false if it was refused or ended early. */
  async readPieces(receive: PieceReceiver, limitBytes?: number): Promise<boolean> {
    if (this.request.contentLength === 0) return !this.done;
    if (this.#parent) return this.#parent.readPieces(receive, limitBytes);
    return (await takeBody(this, { limitBytes, receive })) !== undefined;
  }

  /** Responds with 413, in the location's own format if it has one. */
  refuseBody(): void {
    if (this.done) return;
    const { contentLength } = this.request;
    const size = contentLength < 0 ? 'chunked body' : `body: ${contentLength} bytes`;
    this.writeLog(`client intended to send too large ${size}`);
    forgetBody(this);
    this.refusedBy = 'client_max_body_size';
    if (this.rules.tooLarge && !this.rules.errorPages?.has(413)) void this.rules.tooLarge(this);
    else this.end(413);
  }

  /** Sends a complete response; '' as `contentType` sends none. To HEAD only the head is sent. */
  send(status: number, contentType: string, body: string | Uint8Array): void {
    if (this.done) return;
    try {
      this.#sendWhole(status, contentType, body);
    } catch (error) {
      this.#failResponse(error);
    }
  }

  #sendWhole(status: number, contentType: string, body: string | Uint8Array): void {
    const { logs, filters, bodyFilters } = this.rules;
    if (logs.length > 0 || filters.length > 0 || bodyFilters.length > 0) {
      this.response.lengthBytes = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
    }
    this.#decide(status, contentType);
    if (bodyFilters.length > 0 || this.response.isThrottled || this.#endsInTrailers)
      return this.#sendThrough(body);
    if (this.request.method !== 'HEAD') this.bodyBytesSent = Math.max(this.response.lengthBytes, 0);
    this.wire.write(body);
  }

  /** Sends a complete body through filters or at a limited rate. */
  #sendThrough(body: string | Uint8Array): void {
    const transforms = this.#openFilters();
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const isHead = this.request.method === 'HEAD';
    const inPieces = this.response.isThrottled || this.#endsInTrailers || (isHead && transforms.length > 0);
    const whole = inPieces ? undefined : transformWhole(bytes, transforms);
    if (whole) {
      if (!isHead) this.bodyBytesSent = whole.byteLength;
      return this.wire.write(whole);
    }
    const stream = this.#begin(transforms);
    if (stream) void writePieces(stream, bytes, () => this.aborted);
  }

  /**
   * Begins a response whose body is written in pieces, with its length if it is known. Returns `undefined` if no body
   * can be written: for a HEAD request, of which the head is sent, and if the client has closed the connection.
   */
  stream(status: number, contentType: string, lengthBytes = -1): ResponseStream | undefined {
    if (this.done) return undefined;
    this.response.lengthBytes = lengthBytes;
    try {
      this.#decide(status, contentType);
      return this.#begin(this.#openFilters());
    } catch (error) {
      this.#failResponse(error);
      return undefined;
    }
  }

  #begin(transforms: readonly BodyTransform[]): ResponseStream | undefined {
    const opened = this.wire.open(this.#endsInTrailers ? -1 : this.response.lengthBytes);
    const stream = opened && this.response.isThrottled ? throttled(opened, this) : opened;
    if (stream && transforms.length === 0) return stream;
    if (!stream) {
      closeTransforms(transforms);
      return undefined;
    }
    this.onAbort(() => closeTransforms(transforms));
    return new FilteredStream(stream, transforms, (error) => {
      // The head is already sent: all that is left is to close the connection.
      this.writeLog(`the body of a response could not be made: ${String(error)}`);
      this.abort();
    });
  }

  #openFilters(): readonly BodyTransform[] {
    const { bodyFilters } = this.rules;
    return this.failed || bodyFilters.length === 0 ? [] : openTransforms(bodyFilters, this);
  }

  #decide(status: number, contentType: string): void {
    this.done = true;
    this.status = this.errorStatus === 0 ? status : this.errorStatus;
    this.response.decide(contentType);
    // The status line of an error page is that of the error.
    if (this.errorStatus !== 0) this.response.reason = undefined;
    if (this.failed) return;
    try {
      for (const filter of this.rules.filters) filter(this);
    } catch (error) {
      // Nothing has been sent yet, so another response is still possible.
      this.done = false;
      throw error;
    }
  }

  /** True if the protocol can mark the end of a body of unknown length. Otherwise the connection is closed. */
  get mayChunk(): boolean {
    const { httpVersion } = this.request;
    return httpVersion === '2.0' || (httpVersion === '1.1' && this.rules.chunks);
  }

  /** True if the response has trailers. It is then chunked even if its length is known. */
  get #endsInTrailers(): boolean {
    return (
      this.response.trailers !== undefined &&
      this.wire.sendsTrailers &&
      this.mayChunk &&
      this.request.method !== 'HEAD'
    );
  }

  /** The text of the `Server` header and at the foot of built-in pages. */
  get serverToken(): string {
    const { serverToken, serverTokenOf } = this.rules;
    if (!serverTokenOf || this.failed) return serverToken;
    const token = serverTokenOf(this);
    return isSafeHeaderValue(token) ? token : serverToken;
  }

  /** Responds with a status: with its `error_page`, or the built-in page if the status has one. */
  end(status: number): void {
    if (this.done) return;
    this.rules.watch?.ends(this, status);
    if (endsConnection(status) || (status === 413 && this.wire.lingers)) this.closing = true;
    const handler = this.#errorPage(status);
    if (handler) return this.#serveErrorPage(status, handler);
    const userAgent = this.rules.msiePadding ? this.header('user-agent') : undefined;
    const page = ownPage(status, this.serverToken, userAgent);
    if (page !== undefined) {
      this.errorStatus = 0;
      this.response.removeHeader('Accept-Ranges');
    }
    this.send(statusOnWire(status), page === undefined ? '' : 'text/html', page ?? '');
  }

  #errorPage(status: number): Handler | undefined {
    return this.errorPagesEnded || this.failed ? undefined : this.rules.errorPages?.get(status);
  }

  /** Does not wait for the handler: handlers that the compile stage makes never reject. */
  #serveErrorPage(status: number, handler: Handler): void {
    this.inErrorPage = true;
    this.setState(KEPT_TYPE, '');
    if (!this.rules.recursiveErrorPages) this.errorPagesEnded = true;
    this.errorStatus = statusOnWire(status);
    void handler(this);
  }

  /** Responds with a redirect. Escapes illegal characters. A location with a leading blank gets no host, as in nginx. */
  redirect(status: number, location: string): void {
    if (this.done) return;
    const mayRefresh = this.rules.msieRefresh && (status === 301 || status === 302);
    if (mayRefresh && !this.#errorPage(status) && isMsie(this.header('user-agent') ?? '')) {
      this.errorStatus = 0;
      this.response.removeHeader('Location');
      return this.send(200, 'text/html', refreshPage(encodeLocation(location)));
    }
    const target = encodeLocation(withoutBlanks(location));
    this.response.replaceHeader('Location', location.startsWith('/') ? this.absolute(target) : target);
    this.end(status);
  }

  /** Adds scheme, host and port to a path, by the location's rules (`absolute_redirect` …). Keeps other targets. */
  absolute(target: string): string {
    return redirectTarget(this, target, this.rules.redirects);
  }

  /** Redirects internally to `/uri?args` or to the named location `@name`. */
  redirectInternally(target: string): void | Promise<void> {
    if (this.done) return;
    const { router, watch } = this.rules;
    watch?.redirects(this, target);
    return target.startsWith('@') ? router.toNamed(this, target) : router.toUri(this, target);
  }

  /** Redirects internally to a decoded path. The query stays. */
  redirectToPath(path: string): void | Promise<void> {
    if (this.done) return;
    this.rules.watch?.redirects(this, path);
    return this.rules.router.toPath(this, path);
  }

  /** Runs a subrequest within this server. Resolves with its exchange, which has the status and headers. */
  subrequest(facts: SubrequestFacts): Promise<Exchange> {
    return this.rules.router.subrequest(this, facts);
  }

  /** Sends 101, then relays bytes between client and `peer`. False: the engine cannot (uWS: WebSocket only). */
  tunnel(protocol: string, peer: Duplex): boolean {
    const { httpVersion } = this.request;
    if (this.done || !this.wire.tunnels(protocol.toLowerCase()) || httpVersion === '1.0') return false;
    this.#decide(101, '');
    headSent(this);
    this.wire.tunnel(protocol, peer);
    return true;
  }

  /** Closes the connection without a response (nginx's 444). `status` is for logs. */
  abort(status = 444): void {
    if (this.aborted) return;
    if (!this.done) this.status = status;
    this.wire.close();
  }

  /** Handles an exception of a filter: the request ends with an error. */
  #failResponse(error: unknown): void {
    this.writeLog(error instanceof HttpFault ? error.message : describeFailure(error));
    if (this.aborted) return;
    if (this.failed || this.response.sentText !== undefined) return this.abort();
    this.failed = true;
    this.done = false;
    this.errorStatus = 0;
    this.response.clear();
    this.end(error instanceof HttpFault ? error.status : 500);
  }

  /** Called by the wire when a callback of the engine threw. Ends this request. */
  fail(error: unknown): void {
    const hasResponse = this.done;
    try {
      this.writeLog(`a request could not be served: ${String(error)}`);
      this.closing = true;
      if (!hasResponse) this.end(500);
    } finally {
      if (hasResponse || !this.done) this.abort();
    }
  }

  /** Called by the wire when bytes of the body were sent. */
  wrote(bytes: number): void {
    this.bodyBytesSent += bytes;
  }

  /** Called by the wire when the client closed the connection before its response was complete. */
  leave(): void {
    this.aborted = this.done = true;
    if (this.status === 0) {
      this.status = 499;
      this.writeLog('client prematurely closed connection', 'info');
    }
    this.#runAll(this.#abortListeners, 'cleaning up after a client that left');
  }

  /** Called by the wire once per request: the response is sent, or the connection is closed. */
  finish(): void {
    // nginx logs subrequests only if `log_subrequest` is on.
    this.#runAll(this.#parent ? this.rules.subrequestLogs : this.rules.logs, 'access log');
    this.#runAll(this.#endListeners, 'cleaning up after a request');
  }

  /** Runs the last steps of a request. An exception is logged and does not keep the other steps from running. */
  #runAll(steps: readonly ((x: Exchange) => void)[] | undefined, doing: string): void {
    if (!steps) return;
    for (const step of steps) {
      try {
        step(this);
      } catch (error) {
        this.writeLog(`${doing} failed: ${String(error)}`);
      }
    }
  }

  writeLog(message: string, level?: Level): void {
    this.rules.writeLog(message, this, level);
  }

  /** Adds a listener that runs if the client closes the connection too early. */
  onAbort(listener: () => void): void {
    if (this.#parent) this.#parent.onAbort(listener);
    else (this.#abortListeners ??= []).push(listener);
  }

  /** Adds a listener that runs when the request is finished, with or without a response. */
  onEnd(listener: () => void): void {
    if (this.#parent) this.#parent.onEnd(listener);
    else (this.#endListeners ??= []).push(listener);
  }

  /** Returns the state that a module has stored under its own key. */
  state<T>(key: StateKey<T>): T | undefined {
    return this.#stateByKey?.get(key) as T | undefined;
  }

  setState<T>(key: StateKey<T>, value: T): void {
    (this.#stateByKey ??= new Map()).set(key, value);
  }

  /** Copies the state of another exchange, that of modules included. */
  copyStates(from: Exchange): void {
    this.#stateByKey = from.#stateByKey && new Map(from.#stateByKey);
    this.rewritePhase = from.rewritePhase;
    this.response.rate = from.response.rate;
  }
}
