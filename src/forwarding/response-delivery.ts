import type { Socket } from 'node:net';
import {
  type BodyTaker,
  type Pace,
  pacedBody,
  RangeTaker,
  Relay,
  type Source,
  UNPACED,
} from '../bodies/index.ts';
import { type AcceptedResponse, compilePredicate, type Delivery, validatorsOf } from '../cache/index.ts';
import { type ResponseHead, upgradeOf } from '../client/index.ts';
import {
  CHARSET_OVERRIDE,
  compileRanges,
  decodeComponent,
  type Exchange,
  isSafeHeaderName,
  isSafeHeaderValue,
  partialBody,
  refuseRange,
} from '../http/index.ts';
import { CHUNKED, HOP_BY_HOP } from '../http1/index.ts';
import type { ForwardingBuild } from './forwarding-build.ts';
import type { ForwardingConfig } from './config.ts';
import type { ResponseProtocol } from './protocol.ts';
import { type Accel, ResponseHeaders } from './response-headers.ts';
import { compileStoredFile } from './stored-file.ts';
import { endTry, upstreamFacts } from './tries.ts';

/** Fields that are dropped from trailers: they frame, route or describe the message before them (RFC 9110, 6.5.1). */
const NEVER_TRAILERS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'host',
  'set-cookie',
]);

/** Returns the trailer fields that may be passed to the client. None of them can end the response or begin another. */
export function passedTrailers(fields: readonly string[]): readonly string[] {
  return fields.flatMap((name, index) => {
    const value = fields[index + 1];
    if (index % 2 === 1 || value === undefined) return [];
    const isPassed = isSafeHeaderName(name) && !NEVER_TRAILERS.has(name.toLowerCase());
    return isPassed && isSafeHeaderValue(value) ? [name, value] : [];
  });
}

/** The upstream's end of a tunnel. */
interface TunnelEnd {
  readonly head: ResponseHead;
  readonly socket: Socket;
  /** Bytes that were received after the head. */
  readonly rest: Buffer;
  /** Timeout for reads and writes on the upstream's connection. */
  readonly readTimeoutMs: number;
}

/** Connects client and upstream after a 101, if the engine can. */
function openTunnel(x: Exchange, { head, socket, rest, readTimeoutMs }: TunnelEnd): void {
  // The connection no longer handles errors of the socket, and an unhandled one would end the thread.
  socket.on('error', () => socket.destroy());
  socket.setTimeout(readTimeoutMs, () => socket.destroy());
  socket.pause();
  if (rest.length > 0) socket.unshift(rest);
  const protocol = upgradeOf(head);
  if (x.tunnel(protocol, socket)) return;
  socket.destroy();
  x.response.headers = x.response.reason = undefined;
  const why =
    x.request.httpVersion === '2.0'
      ? 'over HTTP/2 only an extended CONNECT opens a tunnel'
      : 'only "listen ... engine=node" hands over connections';
  x.writeLog(`"${protocol}" cannot be spoken here: ${why}`);
  x.end(502);
}

/** Decides what the client gets for an upstream's response: the response itself, or another one of this server. */
export class ResponseDelivery implements Delivery {
  readonly #headers: ResponseHeaders;
  readonly #config: ForwardingConfig;
  readonly #protocol: ResponseProtocol;
  readonly #readAheadBytes: number;
  readonly #pace: (x: Exchange) => Pace;
  readonly #passesHints: (x: Exchange) => boolean;
  /** Passes on a response; returns the receiver of its body. */
  readonly pass: (x: Exchange, accepted: AcceptedResponse) => BodyTaker;

  constructor(config: ForwardingConfig, protocol: ResponseProtocol, build: ForwardingBuild) {
    this.#config = config;
    this.#headers = new ResponseHeaders(config, protocol);
    this.#protocol = protocol;
    this.#readAheadBytes = config.buffers.number * config.buffers.sizeBytes;
    const readRate = config.limitRate && build.value(config.limitRate);
    const passes = config.forceRanges ? compileForcedRange(relay, build) : relay;
    this.pass = compileStoredFile(passes, config, build);
    this.#passesHints = compilePredicate(build.core.earlyHints, build);
    this.#pace = readRate ? (x) => paceOf(readRate(x), config.bufferSizeBytes) : () => UNPACED;
  }

  /** Passes on a 103, if `early_hints` allows it. */
  hint(x: Exchange, head: ResponseHead): void {
    if (x.done || !x.wire.sendHints || !this.#passesHints(x)) return;
    const headers = this.#headers.hints(head);
    if (headers.length > 0) x.wire.sendHints(headers);
  }

  /** Returns the receiver of the body; `undefined` if the body is not needed. */
  take(x: Exchange, head: ResponseHead, source: Source): BodyTaker | undefined {
    if (this.intercepts(x, head)) return undefined;
    const accepted = this.accept(x, head, source);
    return accepted && this.pass(x, accepted);
  }

  /**
   * Serves an error page instead of a response of the upstream. Must be called before `accept`, so that the response
   * has no other effect (nginx ngx_http_upstream_intercept_errors).
   */
  intercepts(x: Exchange, head: ResponseHead): boolean {
    if (!this.#hasErrorPage(x, head)) return false;
    obey(x, this.#headers.accel(head));
    endTry(x);
    x.end(head.status);
    return true;
  }

  /** Sets the headers of the response; `undefined` if the response redirects the request internally. */
  accept(x: Exchange, head: ResponseHead, source: Source): AcceptedResponse | undefined {
    const accel = this.#headers.accel(head);
    obey(x, accel);
    if (accel.redirect !== undefined) return this.#redirect(x, head, accel.redirect);
    if (head.bodyBytes === 0 && x.request.method === 'HEAD') endTry(x);
    const contentType = this.#headers.apply(x, head);
    if (this.#protocol.passesTrailers && (head.bodyBytes === CHUNKED || head.mayHaveTrailers)) {
      x.response.trailers = () => passedTrailers(source.trailers);
    }
    const isBuffered = accel.buffering ?? this.#config.buffering;
    return {
      head,
      contentType,
      source,
      isBuffered,
      readAheadBytes: isBuffered ? this.#readAheadBytes : 0,
      pace: this.#pace(x),
    };
  }

  serves(x: Exchange, headers: readonly string[]): void {
    const facts = upstreamFacts(x);
    if (facts) facts.responseHeaders = headers;
  }

  /** Opens a tunnel after a 101. */
  tunnel(
    x: Exchange,
    head: ResponseHead,
    upstream: { readonly socket: Socket; readonly rest: Buffer },
  ): void {
    this.#headers.apply(x, head);
    openTunnel(x, { ...upstream, head, readTimeoutMs: this.#config.readTimeoutMs });
  }

  /** With `proxy_intercept_errors`, `error_page` of this location applies to the response (nginx). */
  #hasErrorPage(x: Exchange, { status, headers }: ResponseHead): boolean {
    if (status === 404 && this.#protocol.ownsNotFound) return true;
    if (!this.#config.interceptErrors || status < 300 || !x.rules.errorPages?.has(status)) return false;
    for (let index = 0; status === 401 && index < headers.length; index += 2) {
      const name = headers[index] as string;
      if (/^www-authenticate$/i.test(name)) x.response.setHeader(name, headers[index + 1] as string);
    }
    return true;
  }

  #redirect(x: Exchange, head: ResponseHead, target: string): undefined {
    this.#headers.keep(x, head);
    endTry(x);
    if (target.startsWith('@')) return void x.redirectInternally(target);
    if (x.method !== 'HEAD') x.method = 'GET';
    const [escaped = '', args = ''] = target.split(/\?(.*)/s);
    const path = decodeComponent(escaped);
    if (path === undefined || !SAFE_PATH.test(path)) {
      x.writeLog(`unsafe URI "${target}" was detected`);
      x.end(404);
      return undefined;
    }
    x.args = args;
    return void x.redirectToPath(path);
  }
}

/** Applies the instructions of a response about its delivery. */
function obey(x: Exchange, { limitRate, charset }: Accel): void {
  if (limitRate !== undefined) x.response.changeRate({ bytesPerSecond: limitRate });
  if (charset !== '') x.setState(CHARSET_OVERRIDE, charset);
}

function relay(x: Exchange, accepted: AcceptedResponse): BodyTaker {
  const { head, contentType } = accepted;
  if (head.bodyBytes === 0 && x.request.method !== 'HEAD') return bare(x, head, contentType);
  const { source, readAheadBytes, pace } = accepted;
  const { status, announcedBytes: lengthBytes } = head;
  const rules = { status, contentType, lengthBytes, readAheadBytes, isPaced: pace.bytesPerSecond > 0 };
  return pacedBody(source, pace, (paced) => new Relay(x, paced, rules));
}

/** Delivers a response without a body. It is sent when the connection to the upstream is free for the next request. */
function bare(x: Exchange, { status }: ResponseHead, contentType: string): BodyTaker {
  const send = (): void => x.send(status, contentType, '');
  return { piece: () => undefined, follow: () => undefined, end: send, cut: send, drop: () => undefined };
}

/** Paths that nginx accepts (ngx_http_parse_unsafe_uri): they do not lead to a parent directory. */
// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const SAFE_PATH = /^\/(?!(?:[^]*\/)?\.\.(?:\/|$))[^\0]*$/;

/** Returns the pace of a response. Bytes that arrive with the head are passed on at once. */
function paceOf(text: string, headBytes: number): Pace {
  const [, digits, unit = ''] = /^(\d{1,12})([km]?)$/i.exec(text) ?? [];
  const bytesPerSecond = Number(digits ?? 0) * ({ '': 1, k: 1024, m: 1024 ** 2 }[unit.toLowerCase()] ?? 1);
  return { bytesPerSecond, burstBytes: Math.min(bytesPerSecond, headBytes) };
}

/** Returns the receiver that passes the body of a response to the client. */
type Pass = (x: Exchange, accepted: AcceptedResponse) => BodyTaker;

/**
 * Compiles `…_force_ranges` for responses that are not stored: the upstream sends the whole body, and the client gets
 * one range. A request for several ranges gets the whole body (nginx: single_range).
 */
function compileForcedRange(pass: Pass, build: ForwardingBuild): Pass {
  const { maxRanges } = build.core;
  const rangesOf = compileRanges({ maxRanges: maxRanges === 0 ? 0 : 1 }, build);
  return (x, accepted) => {
    const { head, contentType: type } = accepted;
    const { status, announcedBytes: sizeBytes } = head;
    x.response.removeHeader('Accept-Ranges');
    if (status !== 200 || sizeBytes < 0) return pass(x, accepted);
    const ranges = rangesOf(x, { sizeBytes, validators: validatorsOf(head), type });
    if (ranges === 'whole') x.response.setKnownHeader('Accept-Ranges', 'bytes');
    if (ranges === 'whole' || ranges === 'not offered') return pass(x, accepted);
    x.errorStatus = 0;
    if (ranges === 'unsatisfiable') return refusing(x, { type, sizeBytes });
    const [range = { from: 0, to: sizeBytes }] = ranges;
    const { lengthBytes } = partialBody(x, ranges, { sizeBytes, type });
    const part = { ...head, status: 206, announcedBytes: lengthBytes };
    return new RangeTaker(pass(x, { ...accepted, head: part }), range);
  };
}

/** Responds with 416 as soon as the connection to the upstream is free for the next request. */
function refusing(x: Exchange, resource: { readonly type: string; readonly sizeBytes: number }): BodyTaker {
  const send = (): void => refuseRange(x, resource);
  return { piece: () => undefined, follow: () => undefined, end: send, cut: send, drop: () => undefined };
}
