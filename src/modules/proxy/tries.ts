import { type Exchange, stateKey } from '../../http/index.ts';
import type { ResponseHead } from './client/response-head.ts';
import type { UpstreamFault } from './client/fault.ts';
import type { NextCondition, ProxyConfig } from './config.ts';

/** What is remembered of one peer that a request was sent to, for `$upstream_*`. Times are milliseconds from its choice; -1: never. */
export interface Try {
  /** `127.0.0.1:8080`, or the group's name where no peer was left. */
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

/** What a request remembers of the upstreams that it was sent to. */
export interface ProxyFacts {
  /** One list for each location that forwarded it: `error_page` and X-Accel-Redirect lead from one to the next. */
  readonly rounds: Try[][];
  proxyHost: string;
  proxyPort: string;
  /** Of the exchange when the last round began: a redirect behind it forgets host and port (nginx). */
  internalRedirects: number;
  /** Of the last answer: name, value, … */
  responseHeaders: readonly string[];
  trailers: readonly string[];
}

const FACTS = stateKey<ProxyFacts>('proxy');

/** What the request remembers; `undefined` when it was not forwarded. */
export function proxyFacts(x: Exchange): ProxyFacts | undefined {
  return x.state(FACTS);
}

/** Begins a round of tries. */
export function beginRound(
  x: Exchange,
  { proxyHost, proxyPort }: Pick<ProxyFacts, 'proxyHost' | 'proxyPort'>,
): ProxyFacts {
  const known = proxyFacts(x);
  const { internalRedirects } = x;
  const now = { proxyHost, proxyPort, internalRedirects, responseHeaders: [], trailers: [] };
  const facts = known ? Object.assign(known, now) : { rounds: [], ...now };
  facts.rounds.push([]);
  if (!known) x.setState(FACTS, facts);
  return facts;
}

/** A new try of the current round. */
export function beginTry(facts: ProxyFacts, address: string): Try {
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

/** The head of the answer to the last try is here: an ordinary one, or that of an upgrade. */
export function noteResponse(facts: ProxyFacts, { status, headers }: ResponseHead): void {
  facts.responseHeaders = headers;
  const current = facts.rounds.at(-1)?.at(-1);
  if (!current) return;
  current.status = status;
  current.headerMs = performance.now() - current.startedMs;
}

/** Statuses of answers that may make the gateway ask another peer. */
const STATUS_CONDITIONS: Readonly<Record<number, NextCondition>> = {
  403: 'http_403',
  404: 'http_404',
  429: 'http_429',
  500: 'http_500',
  502: 'http_502',
  503: 'http_503',
  504: 'http_504',
};

/** What nginx holds for not repeatable once it was sent (RFC 9110, 9.2.2, without PUT and DELETE, which are idempotent). */
const NOT_IDEMPOTENT: ReadonlySet<string> = new Set(['POST', 'LOCK', 'PATCH']);

/** How far one request has come. */
export interface Progress {
  readonly method: string;
  /** Some of it has been written to the peer. */
  readonly isSent: boolean;
  /** Its body was passed on as it came: it is gone. */
  readonly isSpent: boolean;
  readonly startedMs: number;
  readonly triesLeft: number;
}

/** `proxy_next_upstream` of one location: when another peer may be asked. */
export class NextRules {
  private readonly conditions: ReadonlySet<NextCondition>;
  private readonly timeoutMs: number;
  readonly maxTries: number;

  constructor({ nextUpstream, nextUpstreamTimeoutMs, nextUpstreamTries }: ProxyConfig) {
    const conditions = new Set<NextCondition>(nextUpstream?.flat() ?? ['error', 'timeout']);
    if (conditions.has('off')) conditions.clear();
    this.conditions = conditions;
    this.timeoutMs = nextUpstreamTimeoutMs;
    this.maxTries = nextUpstreamTries || Infinity;
  }

  afterFault({ kind }: UpstreamFault, progress: Progress): boolean {
    return this.mayRepeat(kind, progress);
  }

  afterStatus(status: number, progress: Progress): boolean {
    const condition = STATUS_CONDITIONS[status];
    return condition !== undefined && this.mayRepeat(condition, progress);
  }

  private mayRepeat(condition: NextCondition, progress: Progress): boolean {
    const { method, isSent, isSpent, startedMs, triesLeft } = progress;
    if (triesLeft <= 0 || !this.conditions.has(condition) || isSpent) return false;
    if (isSent && NOT_IDEMPOTENT.has(method) && !this.conditions.has('non_idempotent')) return false;
    return this.timeoutMs === 0 || performance.now() - startedMs < this.timeoutMs;
  }
}
