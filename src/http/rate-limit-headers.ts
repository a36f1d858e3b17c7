import type { Exchange } from './exchange.ts';
import type { HeaderFilter } from './location-steps.ts';
import { stateKey } from './request.ts';

/** What is left of a limit for a request. */
interface LimitBalance {
  /** The name of its zone. */
  readonly name: string;
  /** Number of requests that are allowed in the window. */
  readonly limit: number;
  readonly windowSeconds: number;
  readonly left: number;
  /** When the limit is whole again, in ms since the epoch. */
  readonly wholeMs: number;
}

/** The limits that a request has met, by their modules. */
const BALANCES = stateKey<readonly LimitBalance[]>('limits to tell');

/** Has the response to a request tell what is left of limits, besides those that other modules add. */
export function addBalances(x: Exchange, balances: readonly LimitBalance[]): void {
  x.main.setState(BALANCES, [...(x.main.state(BALANCES) ?? []), ...balances]);
}

/** Seconds until a limit is whole again, at least one. */
export function secondsUntilWhole({ wholeMs }: Pick<LimitBalance, 'wholeMs'>): number {
  return Math.max(1, Math.ceil((wholeMs - Date.now()) / 1_000));
}

/** Adds the headers that tell what is left (draft-ietf-httpapi-ratelimit-headers-11). */
export const tellBalances: HeaderFilter = (x) => {
  const balances = x.main === x ? x.state(BALANCES) : undefined;
  if (!balances || balances.length === 0) return;
  const policies = balances.map(({ name, limit, windowSeconds }) => {
    return `${quoted(name)};q=${limit};w=${windowSeconds}`;
  });
  const limits = balances.map((balance) => {
    return `${quoted(balance.name)};r=${balance.left};t=${secondsUntilWhole(balance)}`;
  });
  x.response.replaceHeader('RateLimit-Policy', policies.join(', '));
  x.response.replaceHeader('RateLimit', limits.join(', '));
};

/** A string of structured fields (RFC 9651, 3.3.3), which has visible ASCII characters only. */
function quoted(name: string): string {
  return `"${name.replaceAll(/[^ -~]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`;
}
