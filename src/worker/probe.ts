import type { Check } from '../contract/index.ts';

const FRESH_MS = 1_000;
const DEADLINE_MS = 2_000;

/** A check that is made once a second at most, however many ask, and that gives an answer within two. */
export function probeOf(check: Check): Check {
  let answer: Promise<string | undefined> | undefined;
  return () => {
    answer ??= inTime(check).finally(() => {
      setTimeout(() => (answer = undefined), FRESH_MS).unref();
    });
    return answer;
  };
}

async function inTime(check: Check): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${DEADLINE_MS / 1_000} s`), DEADLINE_MS);
  });
  try {
    return await Promise.race([check(), late]);
  } catch {
    return 'the check failed';
  } finally {
    clearTimeout(timer);
  }
}
