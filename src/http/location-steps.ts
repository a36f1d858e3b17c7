import type { Exchange } from './exchange.ts';
import { stateKey } from './request.ts';

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

/** Responds with a status to a request that `by`, a module, does not let through. */
export function refuse(x: Exchange, status: number, by: string): void {
  if (x.done) return;
  x.refusedBy = by;
  x.end(status);
}

/** Responds with a denial. */
export function sendDenial({ status, headers = [] }: Denial, x: Exchange): void {
  for (let index = 0; index < headers.length; index += 2)
    x.response.setHeader(headers[index] as string, headers[index + 1] as string);
  x.end(status);
}

/** The result of an access check. `undefined`: it does not decide. With `satisfy any`, one `allowed` is enough. */
export type Verdict = 'allowed' | Denial | undefined;

/** One check of the access phase. If it sends a response itself, no further check runs. */
export type AccessCheck = (x: Exchange) => Verdict | Promise<Verdict>;

/** Value: the allowed methods of each `limit_except` that the request has passed on its way through locations. */
const LIMITS = stateKey<readonly ReadonlySet<string>[]>('limit_except');

/** Records that a request has entered a location with `limit_except`. */
export function meetLimit(x: Exchange, methods: ReadonlySet<string>): void {
  const met = x.state(LIMITS) ?? [];
  if (!met.includes(methods)) x.setState(LIMITS, [...met, methods]);
}

/** Tells whether each `limit_except` that a request has passed treats `method` as it treats the request's own. */
export function isLimitedAlike(x: Exchange, method: string): boolean {
  return (x.state(LIMITS) ?? []).every((methods) => methods.has(method) === methods.has(x.method));
}
