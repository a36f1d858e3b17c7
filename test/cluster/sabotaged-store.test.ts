import { expect, test } from 'vitest';
import { redis, type TestRedis } from '../harness/redis.ts';
import { keyEntryOf, startKeyedNode, startLightNode, type TestNode } from './keys.ts';
import { entriesOf, freshNamespace, readOn, readyStore } from './stores.ts';
import { Talk } from './talk.ts';

/* What somebody does who may write into the store, but has no secret: once it has ended, all goes on. */

interface Talker extends TestNode {
  readonly broken: Talk;
  readonly whole: Talk;
}

const NO_COUNTERS = ['nan', '-5', '1e300', '9007199254740991', '18446744073709551615', '9'.repeat(400)];
const LAST_IDS = ['1000000000000000-0', '9007199254740991-0', '18446744073709551615-18446744073709551615'];

for (const counter of NO_COUNTERS) {
  test(`a stream goes on behind its last entry if its counter is made ${counter.slice(0, 24)}`, async () => {
    const one = await readyStore();
    const { client } = await redis();
    const [first, second] = entriesOf(one, { count: 2 });
    await one.store.append('ev:a', [first!]);
    await client.hset(`${one.key('ev:a')}:n`, { c: counter, 'o:gw-a i1': `${counter} 1 1` });
    const state = await one.store.look('ev:a', { counter: 1, origin: 'gw-a', incarnation: 'i1' });
    expect(state).toMatchObject({ counter: 1, oldest: 1, mac: first?.mac });
    expect(await one.store.append('ev:a', [second!])).toEqual([2]);
    expect(one.told).toEqual(['up']);
  });
}

for (const id of LAST_IDS) {
  test(`a stream that somebody has ended with the id ${id} begins anew, and its numbers go on`, async () => {
    const one = await readyStore();
    const { client } = await redis();
    const key = one.key('ev:a');
    const [first, second] = entriesOf(one, { count: 2 });
    await one.store.append('ev:a', [first!]);
    await client.xadd(key, id, 'x', 'y');
    expect(await one.store.append('ev:a', [second!])).toEqual([2]);
    await client.xadd(key, id, 'x', 'y');
    const asked = { counter: 0, origin: 'gw-a', incarnation: 'i1' };
    expect(await one.store.look('ev:a', asked)).toMatchObject({ counter: 2, oldest: 3, lastSequence: 2 });
    expect(await readOn(one, 'ev:a')).toEqual([]);
  });
}

/** Puts an entry with a counter, a number of Lua, among the keys of the stream. */
const forgeKey = ({ client }: TestRedis, key: string, counter: string): Promise<unknown> =>
  client.eval(`return redis.call('HSET', KEYS[1], 'k', cmsgpack.pack({ ${counter}, {} }))`, 1, `${key}:k`);

for (const counter of ['0/0', '1/0', '-1', '1.5', '1e25', '2^53', '500']) {
  test(`a key with the counter ${counter} can be read, and written over`, async () => {
    const one = await readyStore();
    await forgeKey(await redis(), one.key('di:a'), counter);
    await one.store.keys('di:a');
    expect(await one.store.write('di:a', [keyEntryOf(one, { value: 'mine' })])).toEqual([1]);
    expect((await one.store.keys('di:a')).entries.map(({ fields }) => fields[7])).toEqual(['mine']);
    expect(one.told).toEqual(['up']);
  });
}

test('nodes have the same keys, and go on with them, after somebody has ended their stream', async () => {
  const store = await redis();
  const namespace = freshNamespace();
  const start = (id: string) => startKeyedNode(id, { url: store.url, namespace });
  const [a, b] = [start('a'), start('b')];
  const values = ({ keys }: typeof a): unknown => Object.fromEntries(keys.values);
  a.keys.set('x', '1');
  await expect.poll(() => values(b)).toEqual({ x: '1' });
  await store.client.xadd(`gw:{${namespace}:di:a}`, '9007199254740991-0', 'x', 'y');
  await expect.poll(() => b.counts['gap']).toBeGreaterThan(0);
  b.keys.set('y', '2');
  for (const one of [a, b]) await expect.poll(() => values(one)).toEqual({ x: '1', y: '2' });
  a.keys.set('x', '3');
  for (const one of [a, b]) await expect.poll(() => values(one)).toEqual({ x: '3', y: '2' });
});

test('members with times that no clock has shown are told, and the connection stays', async () => {
  const one = await readyStore();
  const { client } = await redis();
  await client.zadd(`gw:{${one.seal.namespace}:nodes}`, '-inf', 'a', '-1e300', 'b', '+inf', 'c');
  expect((await one.store.members()).map(({ nodeId }) => nodeId)).toEqual(['a', 'b', 'c']);
  expect(one.told).toEqual(['up']);
});

test('a lease without an end, or at the place of which something else is, is nobody’s', async () => {
  const { store, key } = await readyStore();
  const { client } = await redis();
  for (const sabotage of [
    () => client.set(key('le:up'), 'nobody'),
    () => client.set(key('le:up'), 'nobody', 'EX', 10_000_000),
    () => client.lpush(key('le:up'), 'x'),
  ]) {
    await client.del(key('le:up'));
    await sabotage();
    expect(await store.lease('up', 'gw-a', 60_000)).toBe(true);
  }
});

test('a key that somebody has made something else holds up its own stream only, and is named', async () => {
  const store = await redis();
  const namespace = freshNamespace();
  const [a, b] = ['a', 'b'].map((id) => {
    const one = startLightNode(id, { url: store.url, namespace });
    const [broken, whole] = [new Talk(id, 'ev:broken'), new Talk(id, 'ev:whole')];
    for (const talk of [broken, whole]) one.node.add(talk);
    return { ...one, broken, whole };
  }) as [Talker, Talker];
  await expect.poll(() => [a, b].map(({ node }) => node.status.state)).toEqual(['up', 'up']);
  const key = `gw:{${namespace}:ev:broken}`;
  await store.client.set(key, 'something else');
  for (const word of ['one', 'two']) {
    a.whole.say(word);
    a.broken.say(word);
    await expect.poll(() => b.whole.heard.at(-1)).toBe(word);
  }
  await expect
    .poll(() => a.node.status.reason)
    .toMatch(/^it refuses: "ev:broken": WRONGTYPE Operation against a key/);
  await store.client.del(key);
  await expect.poll(() => b.broken.heard).toEqual(['one', 'two']);
  await expect.poll(() => [a, b].map(({ node }) => node.status.state)).toEqual(['up', 'up']);
});
