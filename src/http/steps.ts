import type { Exchange } from './exchange.ts';

/** Adds response headers just before the head is written. */
export type HeaderFilter = (x: Exchange) => void;

/** Runs once per request after the response, for access logs and counters. Never answers. */
export type LogStep = (x: Exchange) => void;

/** A value for this request; `undefined` is nginx's "not found" and renders as the empty string. */
export type Getter = (x: Exchange) => string | undefined;

/** Why a request may not enter: the status, and headers that go with it: name, value, name, value … */
export interface Denial {
  readonly status: number;
  readonly headers?: readonly string[];
}

/** What one access check thinks; `undefined`: it has no opinion. `allowed` is enough for `satisfy any`. */
export type Verdict = 'allowed' | Denial | undefined;

/** One check of the access phase. It may answer itself; then nobody else is asked. */
export type AccessCheck = (x: Exchange) => Verdict | Promise<Verdict>;
