import type { ConnectionFacts, PortFacts, RequestFacts } from './request-facts.ts';
import { isSafeHeaderName, isSafeHeaderValue } from './head.ts';

/** Clients bound the status line as they bound a header. */
const LONGEST_REASON = 1_000;

/** An address that stands for the client's own: what a trusted proxy told. */
export interface RemoteFacts {
  readonly address: string;
  /** 0 where nobody told. */
  readonly port: number;
}

/** What is known of a request and decided of its answer so far. Request fields are copies: they stay valid across awaits. */
export abstract class ExchangeState {
  /** GET after an `error_page` redirect, whatever the client sent: see `requestMethod`. */
  method: string;
  readonly requestMethod: string;
  /** As received, query included: `$request_uri`. */
  readonly requestUri: string;
  /** Decoded and normalised: `$uri`. Rewrites and internal redirects change it. */
  uri: string;
  /** `uri` is still what the client sent. */
  isOriginalUri = true;
  /** Raw query without the `?`. */
  args: string;
  /** Lower case, without port; '' when the request had none. */
  readonly host: string;
  /** As it came, for the error log. */
  readonly hostHeader: string | undefined;
  readonly referrer: string | undefined;
  /** `server_name` of the server that answers. */
  serverName = '';
  readonly httpVersion: '1.0' | '1.1';
  /** Milliseconds since the epoch. */
  readonly startedMs: number;
  /** Bytes that the client announced; 0 without a body, -1 when it is chunked. */
  readonly contentLength: number;
  readonly port: PortFacts;
  /** Serial number that a worker gives: `$connection`. */
  readonly serial: number;
  /** 0 until the answer is decided. */
  status = 0;
  /** Replaces the status of the answer while an `error_page` is served; 0: none. */
  errorStatus = 0;
  inErrorPage = false;
  /** Whatever happens now is answered with a built-in page. */
  errorPagesEnded = false;
  /** The connection closes behind the answer. */
  closing = false;
  bodyBytesSent = 0;
  /** The head of the answer as it went out, where the transport writes it itself. */
  sentHead: string | undefined = undefined;
  /** Answered, or nobody is left to answer: the phases stop. */
  done = false;
  aborted = false;
  /** What the configuration adds to the answer could not be made: it is answered without any of that. */
  failed = false;
  /** Rewritten or redirected internally: it may enter `internal` locations. */
  internal = false;
  internalRedirects = 0;
  /** The rest of the rewrite phase is skipped (`break`, `last`). */
  rewriteEnded = false;
  /** This rewrite phase has replaced `uri` already: from then on captures are taken as they are (nginx). */
  uriReplaced = false;
  /** The rewrite phase changed `uri`: behind it the location is searched again. */
  relocate = false;
  /** `rewrite … break` changed `uri` inside its location, whose prefix says nothing of it any more. */
  leftLocation = false;
  /** Values of `set` and of named captures; the compile stage hands out the slots. */
  slots: (string | undefined)[] | undefined = undefined;
  /** The last regex match: `$1` … `$9`. */
  captures: RegExpExecArray | undefined = undefined;
  /** `Content-Type` of the answer while it is decided; '' sends none. Filters may change it. */
  responseType = '';
  /** The last type that came from `types` or `default_type` and names a charset; '' without one. */
  configuredType = '';
  /** Type of an answer in whose place another is served; that has it too, where it would take one by its name. */
  keptType = '';
  /** Type of what a `multipart/byteranges` answer is parts of. */
  partsType = '';
  /** What an upstream wants the charset of the answer to be; '' when it said nothing. */
  charsetOverride = '';
  /** Bytes of the answer's body, for filters; -1 when nobody knows yet. */
  responseLength = -1;
  /** Response headers besides the fixed ones: name, value, name, value … */
  responseHeaders: string[] | undefined = undefined;
  /**
   * Fields behind a body in chunks, asked for when it ends: name, value, name, value … An answer that has some comes in
   * chunks. uWebSockets.js cannot send any.
   */
  trailers: (() => readonly string[]) | undefined = undefined;
  /** The words behind the status, where they are not the usual ones. */
  reason: string | undefined = undefined;
  /** Bytes of the answer's body that go out before `limitRate` begins. */
  limitRateAfter = 0;
  private rate: number | undefined = undefined;
  private remote: RemoteFacts | undefined = undefined;
  private stateByKey: Map<symbol, unknown> | undefined = undefined;
  private endListeners: (() => void)[] | undefined = undefined;

  protected constructor(request: RequestFacts, port: PortFacts) {
    this.method = request.method;
    this.requestMethod = request.method;
    this.requestUri = request.requestUri;
    this.uri = request.uri;
    this.args = request.args;
    this.host = request.host;
    this.hostHeader = request.hostHeader;
    this.referrer = request.referrer;
    this.httpVersion = request.httpVersion;
    this.contentLength = request.contentLength;
    this.serial = request.serial;
    this.port = port;
    this.startedMs = Date.now();
  }

  /** Absent where the transport does not tell (uWebSockets.js). */
  get connection(): ConnectionFacts | undefined {
    return undefined;
  }

  /** Address of the other end of the connection. */
  abstract readonly peerAddress: string;
  /** 0 where the transport does not tell. */
  abstract readonly peerPort: number;

  /** Somebody will ask for the peer's address, even when the answer is out or the connection gone. */
  keepPeer(): void {
    // Most transports know it anyway.
  }

  /** Tells the error log. */
  protected abstract warn(message: string): void;

  /** The client's address: the peer's, or what a trusted proxy told. */
  get remoteAddress(): string {
    return this.remote?.address ?? this.peerAddress;
  }

  get remotePort(): number {
    return this.remote?.port ?? this.peerPort;
  }

  setRemote(remote: RemoteFacts): void {
    this.remote = remote;
  }

  /** Bytes per second of the answer's body; 0: no limit. */
  get limitRate(): number {
    return this.rate ?? 0;
  }

  set limitRate(bytesPerSecond: number) {
    this.rate = bytesPerSecond;
  }

  /** Somebody has said how fast the answer may go, or that it may go as fast as it can. */
  get hasLimitRate(): boolean {
    return this.rate !== undefined;
  }

  /** The first response header of a name, whatever its case. */
  responseHeader(name: string): string | undefined {
    const { responseHeaders: headers } = this;
    if (!headers) return undefined;
    for (let index = 0; index < headers.length; index += 2) {
      if (isSameName(headers[index] as string, name)) return headers[index + 1];
    }
    return undefined;
  }

  /** All response headers of a name, with commas between them. */
  joinedResponseHeader(name: string): string | undefined {
    const { responseHeaders: headers = [] } = this;
    let joined: string | undefined;
    for (let index = 0; index < headers.length; index += 2) {
      if (!isSameName(headers[index] as string, name)) continue;
      const value = headers[index + 1] as string;
      joined = joined === undefined ? value : `${joined}, ${value}`;
    }
    return joined;
  }

  /** Adds a response header. A control byte in it drops the header and is logged. */
  setHeader(name: string, value: string): void {
    if (!isSafeHeaderName(name) || !isSafeHeaderValue(value)) {
      this.warn(`header "${name}" is dropped: control character in its value`);
      return;
    }
    (this.responseHeaders ??= []).push(name, value);
  }

  /** A response header in the place of all of its name. */
  replaceHeader(name: string, value: string): void {
    this.removeHeader(name);
    this.setHeader(name, value);
  }

  removeHeader(name: string): void {
    const { responseHeaders: headers } = this;
    for (let index = (headers?.length ?? 0) - 2; headers && index >= 0; index -= 2) {
      if (isSameName(headers[index] as string, name)) headers.splice(index, 2);
    }
  }

  /** Words of the status line instead of the status's own. A control byte in them, or too many, leaves those there. */
  setReason(phrase: string): void {
    if (phrase.length <= LONGEST_REASON && isSafeHeaderValue(phrase)) this.reason = phrase;
    else this.warn('reason phrase is dropped: control character in it, or too long');
  }

  /** Runs when the request is over: its answer is sent, or nobody is left to send it to. */
  onEnd(listener: () => void): void {
    (this.endListeners ??= []).push(listener);
  }

  /** For the transport, once per request. */
  protected over(): void {
    if (!this.endListeners) return;
    for (const listener of this.endListeners) {
      try {
        listener();
      } catch (error) {
        this.warn(`cleaning up after a request failed: ${String(error)}`);
      }
    }
  }

  /** State that a module keeps for this request, by its own key. */
  state<T>(key: symbol): T | undefined {
    return this.stateByKey?.get(key) as T | undefined;
  }

  setState(key: symbol, value: unknown): void {
    (this.stateByKey ??= new Map()).set(key, value);
  }
}

function isSameName(one: string, other: string): boolean {
  return one.length === other.length && one.toLowerCase() === other.toLowerCase();
}
