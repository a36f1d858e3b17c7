import { encodeLocation } from './location-header.ts';
import { isSafeHeaderName, isSafeHeaderValue } from './header-line.ts';
import type { ConnectionRules } from './connection-rules.ts';
import type { PortFacts, RequestFacts } from './request-facts.ts';
import { builtInPage } from './status.ts';

/**
 * One step of a request. It returns a promise only if it waits. A step that answers (`x.end`, `x.send` …) ends its phase.
 * What it throws becomes a 500, or the status of an `HttpFault`.
 */
export type Handler = (x: Exchange) => void | Promise<void>;

/** Clients bound the status line as they bound a header. */
const LONGEST_REASON = 1_000;

/** Adds response headers just before the head is written. */
export type HeaderFilter = (x: Exchange) => void;

/** Runs once per request after the answer, for access logs and counters. Never answers, never throws. */
export type LogStep = (x: Exchange) => void;

/** A value for this request; `undefined` is nginx's "not found" and renders as the empty string. */
export type Getter = (x: Exchange) => string | undefined;

/** What the answer to a request follows; the compile stage makes one per location and worker. */
export interface AnswerRules {
  /** Type of bodies that come without one, for example the text of `return`. */
  readonly defaultType: string;
  /** 0: no limit. */
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly connection: ConnectionRules;
  /** `server_tokens`: what the `Server` header and the built-in pages say. */
  readonly serverToken: string;
  readonly absoluteRedirect: boolean;
  readonly filters: readonly HeaderFilter[];
  readonly logs: readonly LogStep[];
  /** Answers a body that is too large in the location's own form; without it the 413 page. */
  readonly tooLarge?: Handler | undefined;
  /** What `error_page` does for a status, if anything. */
  readonly errorPages?: ReadonlyMap<number, Handler> | undefined;
  /** Tells the error log. */
  readonly warn: (message: string, x: Exchange) => void;
}

/** An answer whose body comes in pieces. */
export interface ResponseStream {
  /** False: wait for `drained` before the next write. */
  write(chunk: string | Uint8Array): boolean;
  drained(): Promise<void>;
  end(): void;
}

/**
 * One request and its answer, whatever transport carries it. Request fields are copies: they stay valid across awaits.
 * After the answer (or the client's leaving) every method that writes does nothing.
 */
export abstract class Exchange {
  /** GET after an `error_page` redirect, whatever the client sent: see `requestMethod`. */
  method: string;
  readonly requestMethod: string;
  /** As received, query included: `$request_uri`. */
  readonly requestUri: string;
  /** Decoded and normalised: `$uri`. Internal redirects change it. */
  uri: string;
  /** Raw query without the `?`. */
  args: string;
  /** Lower case, without port; '' when the request had none. */
  readonly host: string;
  /** `server_name` of the server that answers. */
  serverName = '';
  /** Milliseconds since the epoch. */
  readonly startedMs: number;
  /** Bytes that the client announced; 0 without a body, -1 when it is chunked. */
  readonly contentLength: number;
  readonly port: PortFacts;
  /** Serial number that a worker gives: `$connection`. */
  readonly serial: number;
  rules: AnswerRules;
  /** 0 until the answer is decided. */
  status = 0;
  /** Replaces the status of the answer while an `error_page` is served; 0: none. */
  errorStatus = 0;
  inErrorPage = false;
  bodyBytesSent = 0;
  /** Answered, or nobody is left to answer: the phases stop. */
  done = false;
  aborted = false;
  internalRedirects = 0;
  /** Values of `set` and of named captures; the compile stage hands out the slots. */
  slots: (string | undefined)[] | undefined = undefined;
  /** The last regex match: `$1` … `$9`. */
  captures: RegExpExecArray | undefined = undefined;
  /** Response headers besides the fixed ones: name, value, name, value … */
  responseHeaders: string[] | undefined = undefined;
  /** The words behind the status, where they are not the usual ones. */
  reason: string | undefined = undefined;
  private stateByKey: Map<symbol, unknown> | undefined = undefined;

  protected constructor(request: RequestFacts, port: PortFacts, rules: AnswerRules) {
    this.method = request.method;
    this.requestMethod = request.method;
    this.requestUri = request.requestUri;
    this.uri = request.uri;
    this.args = request.args;
    this.host = request.host;
    this.contentLength = request.contentLength;
    this.serial = request.serial;
    this.port = port;
    this.rules = rules;
    this.startedMs = Date.now();
  }

  /** Request header by lower-case name; repeated ones joined with `, ` (cookies `; `). Only what the build asked for. */
  abstract header(name: string): string | undefined;
  /** The request headers that the build asked for, in order: name, value, name, value … */
  abstract readonly headers: readonly string[];
  abstract readonly remoteAddress: string;
  /** 0 where the transport does not tell. */
  abstract readonly remotePort: number;
  /** Bytes of the request's head and body. */
  abstract readonly requestLength: number;

  /**
   * The whole request body. Beyond `client_max_body_size` (or `limitBytes` when smaller) it answers 413, on silence 408,
   * and gives `undefined`, as it does when the client leaves: the caller just returns.
   */
  abstract readBody(limitBytes?: number): Promise<Buffer | undefined>;
  /** Closes the connection without an answer (nginx's 444). */
  abstract abort(): void;
  /** Runs when the client goes away before the answer is complete. */
  abstract onAbort(listener: () => void): void;

  protected abstract writeAnswer(status: number, contentType: string, body: string | Uint8Array): void;
  protected abstract openStream(status: number, contentType: string): ResponseStream | undefined;

  /** A complete answer; `contentType` '' sends none. HEAD sends the head alone. */
  send(status: number, contentType: string, body: string | Uint8Array): void {
    if (this.done) return;
    this.decide(status);
    if (this.rules.logs.length > 0 && this.requestMethod !== 'HEAD') {
      this.bodyBytesSent = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
    }
    this.writeAnswer(this.status, contentType, body);
    this.log();
  }

  /** An answer in pieces. `undefined` when there is nothing to write: HEAD, whose head goes out, or the client is gone. */
  stream(status: number, contentType: string): ResponseStream | undefined {
    if (this.done) return undefined;
    this.decide(status);
    const stream = this.openStream(this.status, contentType);
    if (!stream) this.log();
    return stream;
  }

  /** Finishes with a status: its `error_page`, or the built-in page where the status has one. */
  end(status: number): void {
    if (this.done) return;
    const handler = this.inErrorPage ? undefined : this.rules.errorPages?.get(status);
    if (handler) return this.serveErrorPage(status, handler);
    const page = builtInPage(status, this.rules.serverToken);
    if (page !== undefined) this.errorStatus = 0;
    this.send(status, page === undefined ? '' : 'text/html', page ?? '');
  }

  /** 413, in the form of the location. */
  refuseBody(): void {
    if (this.done) return;
    if (this.rules.tooLarge && !this.rules.errorPages?.has(413)) void this.rules.tooLarge(this);
    else this.end(413);
  }

  /** A redirect with the built-in page; whatever is not legal in a URL is escaped, so that no header line can break. */
  redirect(status: number, location: string): void {
    if (this.done) return;
    let target = encodeLocation(location);
    if (target.startsWith('/') && this.rules.absoluteRedirect) target = this.origin() + target;
    this.setHeader('Location', target);
    this.end(status);
  }

  /** Adds a response header. A control byte in it drops the header and is logged. */
  setHeader(name: string, value: string): void {
    if (!isSafeHeaderName(name) || !isSafeHeaderValue(value)) {
      this.rules.warn(`header "${name}" is dropped: control character in its value`, this);
      return;
    }
    (this.responseHeaders ??= []).push(name, value);
  }

  /** Words of the status line instead of the status's own. A control byte in them, or too many, leaves those there. */
  setReason(phrase: string): void {
    if (phrase.length <= LONGEST_REASON && isSafeHeaderValue(phrase)) this.reason = phrase;
    else this.rules.warn('reason phrase is dropped: control character in it, or too long', this);
  }

  /** State that a module keeps for this request, by its own key. */
  state<T>(key: symbol): T | undefined {
    return this.stateByKey?.get(key) as T | undefined;
  }

  setState(key: symbol, value: unknown): void {
    (this.stateByKey ??= new Map()).set(key, value);
  }

  /** Runs the log steps; a transport calls it when a stream or an abort ends the request. */
  protected log(): void {
    for (const step of this.rules.logs) step(this);
  }

  protected decide(status: number): void {
    this.done = true;
    this.status = this.errorStatus === 0 ? status : this.errorStatus;
    // An error page has the status of the error, and with it the words for that.
    if (this.errorStatus !== 0) this.reason = undefined;
    for (const filter of this.rules.filters) filter(this);
  }

  /** Waits for what an internal redirect started; the compile stage never lets its promise fail. */
  private serveErrorPage(status: number, handler: Handler): void {
    this.inErrorPage = true;
    this.errorStatus = status;
    void handler(this);
  }

  private origin(): string {
    const { scheme, port } = this.port;
    const usual = port === 0 || port === (scheme === 'https' ? 443 : 80);
    return `${scheme}://${this.host || this.serverName}${usual ? '' : `:${port}`}`;
  }
}
