import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { redis } from '../harness/redis.ts';
import { readyStore } from './stores.ts';

/** A bucket that drains by a request an hour. */
const SLOW = { zone: 'one', keyHash: 'k', milliRequestsPerSecond: 1 / 3.6, burst: 3_000, requests: 1 };

test('a bucket takes the first request for nothing and others up to the burst, as in nginx', async () => {
  const { store } = await readyStore();
  const found = [];
  for (let nth = 0; nth < 6; nth += 1) found.push(await store.admit(SLOW));
  const taken = [0, 1_000, 2_000, 3_000].map((excess) => ({ requests: 1, excess }));
  expect(found).toEqual([...taken, { requests: 0, excess: 4_000 }, { requests: 0, excess: 4_000 }]);
});

test('requests that are asked for together are counted as one after another', async () => {
  const { store } = await readyStore();
  expect(await store.admit({ ...SLOW, requests: 2 })).toEqual({ requests: 2, excess: 0 });
  expect(await store.admit({ ...SLOW, requests: 5 })).toEqual({ requests: 2, excess: 2_000 });
  expect(await store.admit({ ...SLOW, requests: 5 })).toEqual({ requests: 0, excess: 4_000 });
  // A limit with a larger burst on the same zone.
  expect(await store.admit({ ...SLOW, burst: 4_500, requests: 5 })).toEqual({ requests: 1, excess: 4_000 });
});

test('each zone and each value has a bucket of its own', async () => {
  const { store } = await readyStore();
  const one = { ...SLOW, burst: 0 };
  for (const bucket of [one, { ...one, zone: 'two' }, { ...one, keyHash: 'l' }, { ...one, zone: 'one:k' }]) {
    expect(await store.admit(bucket)).toEqual({ requests: 1, excess: 0 });
    expect(await store.admit(bucket)).toEqual({ requests: 0, excess: 1_000 });
  }
});

test('a bucket drains at its rate, by whole thousandths and milliseconds', async () => {
  const { store } = await readyStore();
  const bucket = { ...SLOW, milliRequestsPerSecond: 10_000, burst: 20_000 };
  const begunMs = performance.now();
  await store.admit({ ...bucket, requests: 11 });
  const countedMs = performance.now();
  await sleep(200);
  const askedMs = performance.now();
  const { excess } = await store.admit(bucket);
  const endedMs = performance.now();
  // A bucket with 10 requests loses 10 thousandths in a millisecond, and gets another request; the clocks may differ by one.
  expect(excess).toBeGreaterThanOrEqual(11_000 - 10 * (endedMs - begunMs + 1));
  expect(excess).toBeLessThanOrEqual(11_000 - 10 * (askedMs - countedMs - 1));
});

test('the key of a bucket expires when one more request would be as the first one', async () => {
  const one = await readyStore();
  const { client } = await redis();
  const key = one.key('li:one:k');
  await one.store.admit({ ...SLOW, milliRequestsPerSecond: 10, burst: 9_000, requests: 3 });
  const leftMs = await client.pttl(key);
  expect(leftMs).toBeGreaterThan(200_000);
  expect(leftMs).toBeLessThanOrEqual(300_000);
  await client.del(key);
  const bucket = { ...SLOW, milliRequestsPerSecond: 10_000, burst: 9_000 };
  await one.store.admit({ ...bucket, requests: 3 });
  await expect.poll(() => client.exists(key)).toBe(0);
  expect(await one.store.admit(bucket)).toEqual({ requests: 1, excess: 0 });
});

test('what somebody else has written at the key of a bucket is no bucket', async () => {
  const one = await readyStore();
  const { client } = await redis();
  const key = one.key('li:one:k');
  const sabotages = [
    () => client.set(key, 'x 1'),
    () => client.set(key, `${'9'.repeat(400)} 1`),
    () => client.set(key, '9007199254740993000 1'),
    () => client.lpush(key, 'x'),
  ];
  for (const sabotage of sabotages) {
    await client.del(key);
    await sabotage();
    expect(await one.store.admit(SLOW)).toEqual({ requests: 1, excess: 0 });
  }
  expect(one.told).toEqual(['up']);
});
