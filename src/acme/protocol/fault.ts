import { isObject, parseJson } from '../../json.ts';
import type { AcmeIdentifier } from '../plan.ts';

/** What an authority says about one of the identifiers (RFC 8555, 6.7.1). */
interface Subproblem {
  readonly kind: string;
  readonly detail: string;
  readonly identifier?: string;
}

/** What is known of a fault besides its message. */
interface FaultFacts {
  /**
   * The last part of the authority's URN (`rateLimited`, `badCSR`; RFC 8555, 6.7), or one of gw's own: `unreachable`
   * (no response in time), `malformed response`, `refused` (by gw: the terms are not accepted, for example) and
   * `undecided` (still pending when the patience ends).
   */
  readonly kind: string;
  /** Of the response, if it was one. */
  readonly status?: number | undefined;
  /** How long the authority wants to be left alone. */
  readonly retryAfterMs?: number | undefined;
  readonly subproblems?: readonly Subproblem[];
}

/** Why an authority gave no certificate. The message is one printable line of bounded length, without secrets. */
export class AcmeFault extends Error {
  readonly kind: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly subproblems: readonly Subproblem[];

  constructor(message: string, { kind, status, retryAfterMs, subproblems = [] }: FaultFacts) {
    super(shownText(message, MOST_MESSAGE));
    this.kind = kind;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.subproblems = subproblems;
  }
}

/** Returns the fault of a response that violates the protocol. */
export function malformed(what: string, status?: number): AcmeFault {
  return new AcmeFault(what, { kind: 'malformed response', status });
}

const MOST_TEXT = 300;
const MOST_MESSAGE = 1_500;
const MOST_SUBPROBLEMS = 100;
/** Subproblems whose texts stand in the message. */
const SHOWN_SUBPROBLEMS = 3;
const URN = /^urn:ietf:params:acme:error:(\w{1,64})$/;

// eslint-disable-next-line no-control-regex -- it looks for control bytes
const UNPRINTABLE = /[\0-\x1f\x7f-\x9f\u2028\u2029]+/g;

/** A text of the authority as part of one line: without control characters, and not longer than `most`. */
export function shownText(text: string, most = MOST_TEXT): string {
  const line = text.replace(UNPRINTABLE, ' ').trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

/** Returns the fault for a problem document (RFC 7807), or `undefined` if the value is none. */
export function problemFault(
  problem: unknown,
  facts: Pick<FaultFacts, 'status' | 'retryAfterMs'> = {},
): AcmeFault | undefined {
  if (!isObject(problem)) return undefined;
  const own = subproblemOf(problem);
  if (own.kind === '' && own.detail === '') return undefined;
  const listed = Array.isArray(problem['subproblems']) ? (problem['subproblems'] as unknown[]) : [];
  const subproblems = listed.slice(0, MOST_SUBPROBLEMS).filter(isObject).map(subproblemOf);
  const more = subproblems.slice(0, SHOWN_SUBPROBLEMS).map(described);
  const message = [described(own), ...more].join('; ');
  return new AcmeFault(message, { ...facts, kind: own.kind || 'malformed response', subproblems });
}

function subproblemOf({ type, detail, identifier }: Record<string, unknown>): Subproblem {
  const kind = typeof type === 'string' ? (URN.exec(type)?.[1] ?? shownText(type)) : '';
  const text = typeof detail === 'string' ? shownText(detail) : '';
  const value = isObject(identifier) ? (identifier as Partial<AcmeIdentifier>).value : undefined;
  return { kind, detail: text, ...(typeof value === 'string' && { identifier: shownText(value) }) };
}

function described({ kind, detail, identifier }: Subproblem): string {
  const what = [kind, detail && `"${detail}"`].filter(Boolean).join(' ');
  return identifier === undefined ? what : `${identifier}: ${what}`;
}

/** Returns the fault of a response that reports failure. Its message names the URL, if given, if there is no problem document. */
export function responseFault(response: {
  readonly url?: string;
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs: number | undefined;
}): AcmeFault {
  const { url, status, text, retryAfterMs } = response;
  const facts = { status, retryAfterMs };
  const fault = problemFault(parseJson(text), facts);
  if (fault) return fault;
  const what = status >= 300 && status < 400 ? 'redirects are not followed' : 'no problem document';
  return new AcmeFault(
    `status ${status}, ${what}${url === undefined ? '' : `, at ${shownText(bare(url))}`}`,
    { kind: 'malformed response', ...facts },
  );
}

/** A URL without credentials and query. */
function bare(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
