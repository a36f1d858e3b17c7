import type { Carrier, ResponseHead, UpstreamFault } from '../client/index.ts';
import { type Exchange, stateKey } from '../http/index.ts';
import type { NextCondition, TryingConfig } from './config.ts';

/**
 * A peer that a request was sent to, for `$upstream_*`. Times are in milliseconds since its choice; -1: never reached.
 */
export interface Try {
  /** `127.0.0.1:8080`, or the group's name if no peer was available. */
  readonly address: string;
  readonly startedMs: number;
  status: number;
  connectMs: number;
  headerMs: number;
  responseMs: number;
  bodyBytes: number;
  receivedBytes: number;
  sentBytes: number;
}

/** The upstreams that a request was sent to, kept with the request. */
export interface UpstreamFacts {
  /** One list for each location that forwarded the request: `error_page` and X-Accel-Redirect lead to further ones. */
  readonly rounds: Try[][];
  /** `$proxy_host` and `$proxy_port` of the last round; '' if its protocol has none. */
  proxyHost: string;
  proxyPort: string;
  /**
   * Internal redirects of the exchange when the last round began. A later redirect empties `$proxy_host` and `$proxy_port`
   * (nginx).
   */
  internalRedirects: number;
  /** Headers of the last response: name, value, … */
  responseHeaders: readonly string[];
  trailers: readonly string[];
}

const FACTS = stateKey<UpstreamFacts>('upstream');

/** Returns the facts about the request's upstreams; `undefined` if it was not forwarded. */
export function upstreamFacts(x: Exchange): UpstreamFacts | undefined {
  return x.state(FACTS);
}

/** Begins a round: a location starts to forward the request. */
export function beginRound(
  x: Exchange,
  { proxyHost = '', proxyPort = '' }: Partial<Pick<UpstreamFacts, 'proxyHost' | 'proxyPort'>>,
): void {
  const known = upstreamFacts(x);
  if (!known) return beginOwnRound(x, { proxyHost, proxyPort });
  const { internalRedirects } = x;
  Object.assign(known, { proxyHost, proxyPort, internalRedirects, responseHeaders: [], trailers: [] });
  known.rounds.push([]);
}

/** Begins the first round of a request, or of a copy sent separately, without changing the original's facts. */
export function beginOwnRound(
  x: Exchange,
  { proxyHost = '', proxyPort = '' }: Partial<Pick<UpstreamFacts, 'proxyHost' | 'proxyPort'>>,
): void {
  const { internalRedirects } = x;
  x.setState(FACTS, {
    rounds: [[]],
    proxyHost,
    proxyPort,
    internalRedirects,
    responseHeaders: [],
    trailers: [],
  });
}

/** Adds a try to the current round. */
export function beginTry(facts: UpstreamFacts, address: string): Try {
  const started: Try = {
    address,
    startedMs: performance.now(),
    status: 0,
    connectMs: -1,
    headerMs: -1,
    responseMs: -1,
    bodyBytes: 0,
    receivedBytes: 0,
    sentBytes: 0,
  };
  facts.rounds.at(-1)?.push(started);
  return started;
}

/** Records the head of the response to the last try, also that of a 101. */
export function noteResponse(
  facts: UpstreamFacts,
  { status, headers }: ResponseHead,
  carrier: Pick<Carrier, 'bytesReceived' | 'bytesSent'> | undefined,
): void {
  facts.responseHeaders = headers;
  const current = facts.rounds.at(-1)?.at(-1);
  if (!current) return;
  current.receivedBytes = carrier?.bytesReceived ?? 0;
  current.sentBytes = carrier?.bytesSent ?? 0;
  current.status = status;
  current.headerMs = performance.now() - current.startedMs;
}

/** Records that nothing more of the last response is awaited, before something else is served instead. */
export function endTry(x: Exchange): void {
  const current = upstreamFacts(x)?.rounds.at(-1)?.at(-1);
  if (current && current.responseMs < 0) current.responseMs = performance.now() - current.startedMs;
}

/** Response statuses that may lead to a try of the next peer. */
const STATUS_CONDITIONS: Readonly<Record<number, NextCondition>> = {
  403: 'http_403',
  404: 'http_404',
  429: 'http_429',
  500: 'http_500',
  502: 'http_502',
  503: 'http_503',
  504: 'http_504',
};

/** Methods that nginx does not repeat once sent (RFC 9110, 9.2.2; PUT and DELETE are idempotent). */
const NOT_IDEMPOTENT: ReadonlySet<string> = new Set(['POST', 'LOCK', 'PATCH']);

/** The state of one request that decides whether it may be sent to another peer. */
export interface Progress {
  readonly method: string;
  /** True if a part of the request has been written to the peer. */
  readonly isSent: boolean;
  /** True if the body was passed on while it was received, so that it cannot be sent again. */
  readonly isSpent: boolean;
  readonly startedMs: number;
  readonly triesLeft: number;
}

/** `proxy_next_upstream` and similar directives of one location, which decide whether the next peer is tried. */
export class NextRules {
  readonly #conditions: ReadonlySet<NextCondition>;
  readonly #timeoutMs: number;
  readonly maxTries: number;

  constructor({ nextUpstream, nextUpstreamTimeoutMs, nextUpstreamTries }: TryingConfig) {
    const conditions = new Set<NextCondition>(nextUpstream?.flat() ?? ['error', 'timeout']);
    if (conditions.has('off')) conditions.clear();
    this.#conditions = conditions;
    this.#timeoutMs = nextUpstreamTimeoutMs;
    this.maxTries = nextUpstreamTries || Infinity;
  }

  /** True if `startedMs` of a request is used. */
  get isTimed(): boolean {
    return this.#timeoutMs > 0;
  }

  afterFault({ kind }: UpstreamFault, progress: Progress): boolean {
    return this.#mayRepeat(kind, progress);
  }

  afterStatus(status: number, progress: Progress): boolean {
    const condition = STATUS_CONDITIONS[status];
    return condition !== undefined && this.#mayRepeat(condition, progress);
  }

  #mayRepeat(condition: NextCondition, progress: Progress): boolean {
    const { method, isSent, isSpent, startedMs, triesLeft } = progress;
    if (triesLeft <= 0 || !this.#conditions.has(condition) || isSpent) return false;
    if (isSent && NOT_IDEMPOTENT.has(method) && !this.#conditions.has('non_idempotent')) return false;
    return this.#timeoutMs === 0 || performance.now() - startedMs < this.#timeoutMs;
  }
}

/** Tells whether the configuration uses variables about upstreams, so that requests must keep the facts for them. */
export function keepsFacts(build: { usesFamily(prefix: string): boolean }): boolean {
  return ['upstream_', 'proxy_host', 'proxy_port'].some((prefix) => build.usesFamily(prefix));
}
