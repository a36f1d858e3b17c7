import type { Exchange } from './exchange.ts';
import { stateKey } from './request-state.ts';

/** Value: the methods that each `limit_except` on the way of a request leaves with its location. */
const LIMITS = stateKey<readonly ReadonlySet<string>[]>('limit_except');

/** Notes that a request has come to a location with `limit_except`. */
export function meetLimit(x: Exchange, methods: ReadonlySet<string>): void {
  const met = x.state(LIMITS) ?? [];
  if (!met.includes(methods)) x.setState(LIMITS, [...met, methods]);
}

/** Returns whether each `limit_except` on the way of a request treats a method as it treats that of the request. */
export function isLimitedAlike(x: Exchange, method: string): boolean {
  return (x.state(LIMITS) ?? []).every((methods) => methods.has(method) === methods.has(x.method));
}
