import type { Counter, Counters } from '../zone/index.ts';
import type { Build } from './build.ts';

/** Compiles a counter with a label for the result. A series begins with its first count. */
export function compileCounter<R extends string>(
  metrics: Counters,
  facts: { readonly name: string; readonly help: string },
  labels: Readonly<Record<string, string>>,
): (result: R) => void {
  const counters = new Map<R, Counter>();
  return (result) => {
    const counter = counters.get(result) ?? metrics.counter(facts, { ...labels, result });
    counters.set(result, counter);
    counter.add();
  };
}

/** The result of the check of who makes a request. */
export type AuthResult = 'accepted' | 'none' | 'refused' | 'forbidden' | 'failed';

const CHECKS = { name: 'gw_auth_total', help: 'Requests whose sender was checked.' };

/** Compiles the counter of the checks of a location. */
export function compileAuthCounter(
  { location: { path }, metrics }: Pick<Build, 'location' | 'metrics'>,
  kind: 'jwt' | 'api_key' | 'oidc',
): (result: AuthResult) => void {
  return compileCounter(metrics, CHECKS, { location: path, kind });
}
