import { expect, test } from 'vitest';
import { redis } from '../harness/redis.ts';
import {
  clusterOf,
  eventsOf,
  joined,
  numbered,
  payloadsOf,
  publishAll,
  sorted,
  startNode,
  startPair,
} from './gateways.ts';
import { postedJson } from './post.ts';

test('a store that has lost everything gets the last events again, and what is missing is told', async (t) => {
  const store = await redis('--databases', '3');
  const [a, b] = await startPair(t, { backend: store.url });
  await publishAll(a, numbered('before', 20));
  await expect.poll(async () => (await payloadsOf(b)).length).toBe(20);
  await store.stop('SIGKILL');
  await publishAll(b, numbered('meanwhile', 5));
  await store.start();
  await publishAll(b, numbered('after', 5));
  const all = sorted([...numbered('before', 20), ...numbered('meanwhile', 5), ...numbered('after', 5)]);
  for (const gw of [a, b])
    await expect.poll(async () => sorted(await payloadsOf(gw)), { timeout: 15_000 }).toEqual(all);
  // One of them has found the store empty; for the other one it may have had the same as before again.
  const gaps = async (): Promise<unknown> =>
    [...(await eventsOf(a)), ...(await eventsOf(b))]
      .filter(({ type }) => type === 'cluster_gap')
      .map(({ payload }) => JSON.parse(payload ?? '') as unknown)[0];
  await expect.poll(gaps).toEqual({ stream: 'ev:bus', from: 1, to: 20 });
  // A gateway that comes now has them from the store.
  const late = await startNode(t, { id: 'late', backend: store.url });
  await expect.poll(async () => sorted(await payloadsOf(late)), { timeout: 10_000 }).toEqual(all);
});

test('with ack a publish is answered when the store has the event, else with 503', async (t) => {
  const store = await redis('--databases', '4');
  const spec = { id: 'a', backend: store.url, shares: 'cluster=main:ack' };
  const a = await startNode(t, spec);
  await joined(a);
  await publishAll(a, ['confirmed']);
  expect(await store.client.xlen('gw:{gw:ev:bus}')).toBe(1);
  store.signal('SIGSTOP');
  const { status, headers, body } = await postedJson(a, '/events', { type: 'told', payload: 'late' });
  expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  expect(JSON.parse(body)).toMatchObject({
    status: 'error',
    error: expect.stringContaining('in time') as string,
  });
  store.signal('SIGCONT');
  await expect.poll(() => store.client.xlen('gw:{gw:ev:bus}'), { timeout: 10_000 }).toBe(2);
});

test('what does not fit the buffer is dropped, the oldest first, and told to all', async (t) => {
  const store = await redis('--databases', '5');
  const [a, b] = await startPair(t, { backend: store.url, more: 'buffer 8k;' });
  store.signal('SIGSTOP');
  await publishAll(a, numbered('x'.repeat(400), 40));
  store.signal('SIGCONT');
  await expect
    .poll(async () => (await payloadsOf(b)).at(-1), { timeout: 10_000 })
    .toBe(numbered('x'.repeat(400), 40).at(-1));
  const told = async (): Promise<string | null | undefined> =>
    (await eventsOf(b)).find(({ type }) => type === 'cluster_gap')?.payload;
  await expect.poll(told).toBeTypeOf('string');
  const { dropped } = JSON.parse((await told()) as string) as { dropped: number };
  // The store may have taken one after all that was on its way when it was dropped.
  expect((await payloadsOf(b)).length + dropped).toBeGreaterThanOrEqual(40);
  expect(dropped).toBeLessThan(40);
  await expect.poll(async () => (await clusterOf(a)).buffer_bytes).toBe(0);
  expect(a.errorLog()).toContain('cluster "main": the buffer is full');
});
