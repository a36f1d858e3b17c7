import type { Exchange } from './exchange.ts';
import { stateKey } from './request-state.ts';

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
