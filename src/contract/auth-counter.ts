import type { Counter } from '../zone/index.ts';
import type { Build } from './build.ts';

/** The result of the check of who makes a request. */
export type AuthResult = 'accepted' | 'none' | 'refused' | 'forbidden' | 'failed';

const CHECKS = { name: 'gw_auth_total', help: 'Requests whose sender was checked.' };

/** Compiles the counter of the checks of a location. */
export function compileAuthCounter(
  { location: { path }, metrics }: Pick<Build, 'location' | 'metrics'>,
  kind: 'jwt' | 'api_key',
): (result: AuthResult) => void {
  const counters = new Map<AuthResult, Counter>();
  return (result) => {
    const counter = counters.get(result) ?? metrics.counter(CHECKS, { location: path, kind, result });
    counters.set(result, counter);
    counter.add();
  };
}
