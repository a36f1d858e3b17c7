import type { Exchange } from '../../http/index.ts';
import type { AnswerHead } from './client/answer-head.ts';

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
  answerHeaders: readonly string[];
  trailers: readonly string[];
}

const FACTS = Symbol('proxy');

/** What the request remembers; `undefined` when it was not forwarded. */
export function proxyFacts(x: Exchange): ProxyFacts | undefined {
  return x.state<ProxyFacts>(FACTS);
}

/** Begins a round of tries. */
export function beginRound(
  x: Exchange,
  { proxyHost, proxyPort }: Pick<ProxyFacts, 'proxyHost' | 'proxyPort'>,
): ProxyFacts {
  const known = proxyFacts(x);
  const { internalRedirects } = x;
  const now = { proxyHost, proxyPort, internalRedirects, answerHeaders: [], trailers: [] };
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
export function noteAnswer(facts: ProxyFacts, { status, headers }: AnswerHead): void {
  facts.answerHeaders = headers;
  const current = facts.rounds.at(-1)?.at(-1);
  if (!current) return;
  current.status = status;
  current.headerMs = performance.now() - current.startedMs;
}
