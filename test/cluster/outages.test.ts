import { expect, test } from 'vitest';
import { StoreLost, StoreRefused } from '../../src/cluster/index.ts';
import { redis } from '../harness/redis.ts';
import { pretender } from './pretender.ts';
import { countersOf, entriesOf, openStore, readOn, readyStore } from './stores.ts';

test('calls to a store that hangs are lost in time, and it is found again', async () => {
  const server = await redis();
  const one = await readyStore({ timeoutMs: 200 });
  const { store } = one;
  expect(await store.append('ev:a', entriesOf(one, { count: 2 }))).toEqual([1, 2]);
  server.signal('SIGSTOP');
  const reading = store.read(new Map([['ev:a', 2]]), 100);
  const late = new StoreLost('no reply within 200 ms');
  await expect(store.append('ev:a', entriesOf(one, { first: 3 }))).rejects.toThrow(late);
  await expect(reading).rejects.toThrow(late);
  for (let nth = 0; nth < 3; nth++)
    await expect(store.append('ev:a', entriesOf(one, { first: 3 }))).rejects.toThrow(StoreLost);
  expect(one.told).toEqual(['up', expect.stringMatching(/^3 timeouts in a row|^silent for \d+ ms/)]);
  server.signal('SIGCONT');
  await one.ready();
  // The calls that were lost have happened.
  expect(await store.append('ev:a', entriesOf(one, { first: 3, count: 2 }))).toEqual([0, 4]);
  expect(countersOf(await readOn(one, 'ev:a'))).toEqual([1, 2, 3, 4]);
});

test('calls fail at once while the store is gone, and it is found again, empty', async () => {
  const server = await redis();
  const one = await readyStore();
  const { store } = one;
  await store.append('ev:a', entriesOf(one, { count: 2 }));
  const reading = store.read(new Map([['ev:a', 2]]), 60_000);
  await Promise.all([expect(reading).rejects.toThrow(StoreLost), server.stop('SIGKILL')]);
  await expect.poll(() => one.told.at(-1)).toMatch(/ECONNREFUSED/);
  for (const call of [
    store.append('ev:a', entriesOf(one, { first: 3 })),
    store.read(new Map([['ev:a', 2]]), 60_000),
    store.tail('ev:a', 1),
    store.policy(),
  ])
    await expect(call).rejects.toThrow(StoreLost);
  await server.start();
  await one.ready();
  expect(await store.tail('ev:a', 5)).toEqual({ entries: [], counter: 0 });
  expect(await store.append('ev:a', entriesOf(one, { first: 3 }))).toEqual([1]);
});

test('a store that became a replica is left, and taken again when it is a primary', async () => {
  const { client } = await redis('--databases', '3');
  const { url } = await redis('--databases', '3');
  const one = await readyStore({ url });
  const { store } = one;
  await store.append('ev:a', entriesOf(one));
  const reading = store.read(new Map([['ev:a', 1]]), 60_000);
  await Promise.all([
    expect(reading).rejects.toThrow(/^(?:UNBLOCKED|connection closed)/),
    client.replicaof('127.0.0.1', 1),
  ]);
  // Whether the connection is there at this moment or not, nothing is written.
  await expect(store.append('ev:a', entriesOf(one, { first: 2 }))).rejects.toThrow(/READONLY|closed|down/);
  await expect.poll(() => one.told.at(-1)).toBe("READONLY You can't write against a read only replica.");
  const { length } = one.told;
  await expect(store.append('ev:a', entriesOf(one, { first: 2 }))).rejects.toThrow(/READONLY/);
  expect(one.told).toHaveLength(length);
  await client.replicaof('NO', 'ONE');
  await one.ready();
  expect(await store.append('ev:a', entriesOf(one, { first: 2 }))).toEqual([2]);
});

test('a store without memory refuses, and its counter has no hole afterwards', async () => {
  const { client, url } = await redis('--databases', '3');
  const one = await readyStore({ url });
  const { store } = one;
  const from = (first: number): Promise<readonly number[]> =>
    store.append('ev:a', entriesOf(one, { first, count: 2 }));
  expect(await from(1)).toEqual([1, 2]);
  await client.config('SET', 'maxmemory', '1');
  await expect(from(3)).rejects.toThrow(
    new StoreRefused("OOM command not allowed when used memory > 'maxmemory'."),
  );
  await client.config('SET', 'maxmemory', '0');
  expect(await from(3)).toEqual([3, 4]);
  expect(one.told).toEqual(['up']);
});

test('a key that somebody else uses is refused', async () => {
  const one = await readyStore();
  const { client } = await redis();
  await client.set(one.key('ev:a'), 'x');
  for (const call of [
    () => one.store.append('ev:a', entriesOf(one)),
    () => one.store.read(new Map([['ev:a', 0]]), 0),
    () => one.store.tail('ev:a', 5),
  ])
    await expect(call()).rejects.toThrow(/^WRONGTYPE /);
});

const sha = 'f'.repeat(40);
const refused = [
  {
    reply: `-ERR Error running script (call to f_${sha}): @user_script:20: @user_script: 20: -READONLY You can't write against a read only replica.`,
    message: "READONLY You can't write against a read only replica.",
    isLeft: true,
  },
  {
    reply: `-LOADING Redis is loading the dataset in memory`,
    message: 'LOADING Redis is loading the dataset in memory',
    isLeft: true,
  },
  {
    reply: `-OOM command not allowed when used memory > 'maxmemory'. script: ${sha}, on @user_script:20.`,
    message: "OOM command not allowed when used memory > 'maxmemory'.",
    isLeft: false,
  },
  {
    reply: `-ERR unknown command 'evalsha', with args beginning with: '${sha}' 'the payload'`,
    message: "ERR unknown command 'evalsha'",
    isLeft: false,
  },
];
for (const { reply, message, isLeft } of refused) {
  test(`a refusal is told in the words of the store: ${message}`, async (t) => {
    const { url } = await pretender(t, { evalsha: reply });
    const one = await openStore({ url });
    await expect.poll(() => one.told).toEqual(['up']);
    await expect(one.store.append('ev:a', entriesOf(one))).rejects.toThrow(new StoreRefused(message));
    expect(one.told).toEqual(isLeft ? ['up', message] : ['up']);
  });
}

test('a store that loads its data is not up, and is told once', async (t) => {
  const { url, asked } = await pretender(t, { ping: '-LOADING Redis is loading the dataset in memory' });
  const one = await openStore({ url });
  await expect.poll(() => asked.length).toBeGreaterThan(6);
  expect(one.told).toEqual(['LOADING Redis is loading the dataset in memory']);
});

for (const reply of ['+OK', '*1\r\n*0', '*1\r\n-ERR', '*1\r\n:-1', '$-1']) {
  test(`a connection with an unexpected reply is dropped: ${JSON.stringify(reply)}`, async (t) => {
    const { url } = await pretender(t, { evalsha: reply });
    const one = await openStore({ url });
    await expect.poll(() => one.told).toEqual(['up']);
    const reason = 'an unexpected reply to "evalsha"';
    await expect(one.store.append('ev:a', entriesOf(one))).rejects.toThrow(new StoreLost(reason));
    expect(one.told).toEqual(['up', reason]);
  });
}
