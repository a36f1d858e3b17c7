import type { Duplex } from 'node:stream';
import {
  redirectTarget,
  refreshPage,
  type RouterOf,
  type RulesOf,
  type SubrequestFacts,
  type Verdict,
} from './answer-rules.ts';
import type { BodyFilterOf } from './body-filter.ts';
import { isMsie, isSafeHeaderValue } from './head.ts';
import { encodeLocation } from './uri.ts';
import { Outgoing } from './outgoing.ts';
import { endsConnection, ownPage, statusOnWire } from './status.ts';
import type { PortFacts, RequestFacts } from './request-facts.ts';
import type { ResponseStream } from './response-stream.ts';

/**
 * One step of a request. It returns a promise only if it waits. A step that answers (`x.end`, `x.send` …) ends its phase.
 * What it throws becomes a 500, or the status of an `HttpFault`.
 */
export type Handler = (x: Exchange) => void | Promise<void>;

/** Adds response headers just before the head is written. */
export type HeaderFilter = (x: Exchange) => void;

/** Runs once per request after the answer, for access logs and counters. Never answers. */
export type LogStep = (x: Exchange) => void;

/** A value for this request; `undefined` is nginx's "not found" and renders as the empty string. */
export type Getter = (x: Exchange) => string | undefined;

/** One check of the access phase. It may answer itself; then nobody else is asked. */
export type AccessCheck = (x: Exchange) => Verdict | Promise<Verdict>;

export type BodyFilter = BodyFilterOf<Exchange>;
export type AnswerRules = RulesOf<Exchange>;
export type Router = RouterOf<Exchange>;

/** A subrequest that is answered: the exchange has the status and headers. */
export type AnsweredSubrequest = Awaited<ReturnType<Router['subrequest']>>;

/** Takes a piece of a request body; the client is held back while it waits. */
export type PieceReceiver = (piece: Buffer) => void | Promise<void>;

/**
 * One request and its answer, whatever transport carries it. After the answer (or the client's leaving) every method that
 * writes does nothing.
 */
export abstract class Exchange extends Outgoing {
  rules: AnswerRules;
  /** What goes on behind the rewrite phase: the location's own, or that of an `if` that was true. */
  afterRewrite: Handler | undefined = undefined;

  protected constructor(request: RequestFacts, port: PortFacts, rules: AnswerRules) {
    super(request, port);
    this.rules = rules;
  }

  /** Request header by lower-case name; repeated ones joined with `, ` (cookies `; `). Only what the build asked for. */
  abstract header(name: string): string | undefined;
  /** The request headers that the build asked for, in order: name, value, name, value … */
  abstract readonly headers: readonly string[];
  /** Bytes of the request's head and body. */
  abstract readonly requestLength: number;

  /**
   * The whole request body. Beyond `client_max_body_size` (or `limitBytes` when smaller) it answers 413, on silence 408,
   * and gives `undefined`, as it does when the client leaves: the caller just returns.
   */
  abstract readBody(limitBytes?: number): Promise<Buffer | undefined>;
  /** The request body as it comes. False where `readBody` would give nothing. Either of them, once per request. */
  abstract readPieces(receive: PieceReceiver, limitBytes?: number): Promise<boolean>;

  /** The client's exchange: a subrequest has another one. */
  get main(): Exchange {
    return this;
  }

  /** A complete answer; `contentType` '' sends none. HEAD sends the head alone. */
  send(status: number, contentType: string, body: string | Uint8Array): void {
    if (this.done) return;
    try {
      this.sendWhole(status, contentType, body);
    } catch (error) {
      this.failAnswer(error);
    }
  }

  private sendWhole(status: number, contentType: string, body: string | Uint8Array): void {
    const { logs, filters, bodyFilters } = this.rules;
    if (logs.length > 0 || filters.length > 0 || bodyFilters.length > 0) {
      this.responseLength = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
    }
    this.decide(status, contentType);
    if (bodyFilters.length > 0 || this.limitRate > 0 || this.endsInTrailers) return this.sendThrough(body);
    if (this.requestMethod !== 'HEAD') this.bodyBytesSent = Math.max(this.responseLength, 0);
    this.writeAnswer(this.status, this.responseType, body);
    this.log();
  }

  /**
   * An answer in pieces, with its length where it is known. `undefined` when there is nothing to write: HEAD, whose head
   * goes out, or the client is gone.
   */
  stream(status: number, contentType: string, lengthBytes = -1): ResponseStream | undefined {
    if (this.done) return undefined;
    this.responseLength = lengthBytes;
    try {
      this.decide(status, contentType);
      return this.begin(this.openFilters());
    } catch (error) {
      this.failAnswer(error);
      return undefined;
    }
  }

  /** Whether some body filter wants an answer of this kind: then its length is not known before its end. */
  isTransformed(status: number, contentType: string, lengthBytes = -1): boolean {
    if (this.rules.bodyFilters.length === 0) return false;
    this.status = status;
    this.responseType = contentType;
    this.responseLength = lengthBytes;
    return this.rules.bodyFilters.some((filter) => filter.wants(this));
  }

  /** What filters add to an answer with 200 stays when it turns out to be another one (nginx: its range filter comes last). */
  passFilters({ type, lengthBytes }: { readonly type: string; readonly lengthBytes: number }): void {
    this.status = 200;
    this.responseType = type;
    this.responseLength = lengthBytes;
    for (const filter of this.rules.filters) filter(this);
  }

  /** Finishes with a status: its `error_page`, or the built-in page where the status has one. */
  end(status: number): void {
    if (this.done) return;
    if (endsConnection(status)) this.closing = true;
    const handler = this.errorPagesEnded || this.failed ? undefined : this.rules.errorPages?.get(status);
    if (handler) return this.serveErrorPage(status, handler);
    const page = ownPage(
      status,
      this.serverToken,
      this.rules.msiePadding ? this.header('user-agent') : undefined,
    );
    if (page !== undefined) this.errorStatus = 0;
    this.send(statusOnWire(status), page === undefined ? '' : 'text/html', page ?? '');
  }

  /** 413, in the form of the location. */
  refuseBody(): void {
    if (this.done) return;
    const size = this.contentLength < 0 ? 'chunked body' : `body: ${this.contentLength} bytes`;
    this.rules.warn(`client intended to send too large ${size}`, this);
    if (this.rules.tooLarge && !this.rules.errorPages?.has(413)) void this.rules.tooLarge(this);
    else this.end(413);
  }

  /** A redirect with the built-in page; whatever is not legal in a URL is escaped, so that no header line can break. */
  redirect(status: number, location: string): void {
    if (this.done) return;
    const target = encodeLocation(location);
    if (
      this.rules.msieRefresh &&
      (status === 301 || status === 302) &&
      isMsie(this.header('user-agent') ?? '')
    ) {
      return this.send(200, 'text/html', refreshPage(target));
    }
    this.setHeader('Location', this.absolute(target));
    this.end(status);
  }

  /** Serves another place of this server instead: `/uri?args` or `@name`. */
  redirectInternally(target: string): void | Promise<void> {
    if (this.done) return;
    const { router } = this.rules;
    return target.startsWith('@') ? router.toNamed(this, target) : router.toUri(this, target);
  }

  /** Serves the place of a decoded path instead, with the query that the request has. */
  redirectToPath(path: string): void | Promise<void> {
    return this.done ? undefined : this.rules.router.toPath(this, path);
  }

  /** Asks another place of this server, without the client's noticing. */
  subrequest(facts: SubrequestFacts): Promise<AnsweredSubrequest> {
    return this.rules.router.subrequest(this, facts);
  }

  /**
   * Switches to another protocol (101, with the headers that are set): from now on the bytes of `peer` are the client's.
   * False where the transport cannot; uWebSockets.js can for WebSockets.
   */
  tunnel(_protocol: string, _peer: Duplex): boolean {
    return false;
  }

  protected warn(message: string): void {
    this.rules.warn(message, this);
  }

  /** Runs the log steps; a transport calls it when a stream or an abort ends the request, often where nobody could catch. */
  protected log(steps = this.rules.logs): void {
    for (const step of steps) {
      try {
        step(this);
      } catch (error) {
        this.warn(`access log failed: ${String(error)}`);
      }
    }
  }

  protected decide(status: number, contentType: string): void {
    this.done = true;
    this.status = this.errorStatus === 0 ? status : this.errorStatus;
    this.responseType = contentType;
    // An error page has the status of the error, and with it the words for that.
    if (this.errorStatus !== 0) this.reason = undefined;
    if (this.failed) return;
    try {
      for (const filter of this.rules.filters) filter(this);
    } catch (error) {
      // Nothing is written yet: it can still be answered in another way.
      this.done = false;
      throw error;
    }
  }

  /** Waits for what an internal redirect started; the compile stage never lets its promise fail. */
  private serveErrorPage(status: number, handler: Handler): void {
    this.inErrorPage = true;
    this.keptType = '';
    if (!this.rules.recursiveErrorPages) this.errorPagesEnded = true;
    this.errorStatus = statusOnWire(status);
    void handler(this);
  }

  /** What the `Server` header and the built-in pages say. */
  get serverToken(): string {
    const { serverToken, serverTokenOf } = this.rules;
    if (!serverTokenOf || this.failed) return serverToken;
    const token = serverTokenOf(this);
    return isSafeHeaderValue(token) ? token : serverToken;
  }

  /** A path with the scheme, host and port that redirects of this location name; anything else as it is. */
  absolute(target: string): string {
    return redirectTarget(this, target, this.rules.redirects);
  }
}
