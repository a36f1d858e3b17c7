import { expect, test } from 'vitest';
import { LateFault, withinTime } from '../../src/client/index.ts';

/** A request that ends only when its signal aborts. */
function hanging(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => reject(new Error('aborted'));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}

test('a request that is not done in time is ended, and the fault says so', async () => {
  const fault = await withinTime({ timeoutMs: 20 }, hanging).catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(LateFault);
  expect(fault).toMatchObject({ message: 'no response within 0.02 s', cause: new Error('aborted') });
});

test('a request that is ended earlier, or before it begins, fails as it does itself', async () => {
  const ending = new AbortController();
  const limit = { timeoutMs: 60_000, ending: ending.signal };
  const asking = withinTime(limit, hanging);
  ending.abort();
  await expect(asking).rejects.toThrow('aborted');
  await expect(withinTime(limit, hanging)).rejects.toThrow('aborted');
});

test('a fault of the request itself is passed on', async () => {
  const fault = new Error('connection refused');
  await expect(withinTime({ timeoutMs: 60_000 }, () => Promise.reject(fault))).rejects.toBe(fault);
});
