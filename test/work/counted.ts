import { expect, type TestContext } from 'vitest';
import { systemCallsDuring } from './strace.ts';

/** How often something is done while its system calls are counted. */
export const TIMES = 300;
/**
 * Calls beyond a whole number for each time: the heartbeat of a worker (four a second), timers of pools, and what the
 * master does meanwhile. On a slow machine there are more of them.
 */
const ALLOWANCE = 0.15;

/** System calls by their kind: how many of them one request, message or connection may take. */
export type Calls = Readonly<Record<string, number>>;

/** One exchange takes these on a connection that is open. */
export const ON_NODE: Calls = { receive: 1, send: 1 };
/** And these if it is passed on to another connection that is open. */
export const FORWARDED_ON_NODE: Calls = { receive: 2, send: 2 };

/** Expects that `act` takes at most these calls each time. */
export async function expectCalls(pid: number, act: () => Promise<void>, most: Calls): Promise<void> {
  const counts = await systemCallsDuring(pid, act);
  const each = Object.fromEntries(
    [...counts].map(([kind, count]) => [kind, Math.ceil(count / TIMES - ALLOWANCE)]),
  );
  const excess = Object.entries(each).filter(([kind, count]) => count > (most[kind] ?? 0));
  expect(excess, `one of ${TIMES} times: ${JSON.stringify([...counts])}`).toEqual([]);
}

/** Skips a test where system calls cannot be counted. */
export function skipUntraced(t: TestContext, untraced: string | undefined): void {
  if (untraced !== undefined) t.skip(untraced);
}
