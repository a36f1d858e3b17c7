import type { Exchange } from './exchange.ts';

/** A step that may add response headers just before the head is sent. */
export type HeaderFilter = (x: Exchange) => void;

/** A step that runs once per request after the response, for access logs and counters. It never responds. */
export type LogStep = (x: Exchange) => void;

/** Returns a value for a request. `undefined` is nginx's "not found" and renders as the empty string. */
export type Getter = (x: Exchange) => string | undefined;

/** The reason why access is denied: a status, and headers to add: name, value, name, value … */
export interface Denial {
  readonly status: number;
  readonly headers?: readonly string[];
}

/** The result of an access check. `undefined`: it does not decide. With `satisfy any`, one `allowed` is enough. */
export type Verdict = 'allowed' | Denial | undefined;

/** One check of the access phase. If it sends a response itself, no further check runs. */
export type AccessCheck = (x: Exchange) => Verdict | Promise<Verdict>;
