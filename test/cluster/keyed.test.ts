import { expect, test } from 'vitest';
import { redis, type TestRedis } from '../harness/redis.ts';
import { keyEntryOf, startKeyedNode } from './keys.ts';
import { freshNamespace, readyStore } from './stores.ts';

type Node = ReturnType<typeof startKeyedNode>;

interface Cluster {
  readonly server: TestRedis;
  readonly namespace: string;
  readonly start: (id: string) => Node;
}

/** A store of its own, where a test breaks it. */
async function cluster(...options: readonly string[]): Promise<Cluster> {
  const server = await redis(...options);
  const namespace = freshNamespace();
  return { server, namespace, start: (id) => startKeyedNode(id, { url: server.url, namespace }) };
}

const isUp = ({ node }: Node): boolean => node.status.state === 'up';

async function pair(
  ...options: readonly string[]
): Promise<Cluster & { readonly a: Node; readonly b: Node }> {
  const one = await cluster(...options);
  const [a, b] = [one.start('a'), one.start('b')];
  await expect.poll(() => isUp(a) && isUp(b)).toBe(true);
  return { ...one, a, b };
}

/** All nodes come to have these values, and nothing waits. */
async function expectValues(nodes: readonly Node[], expected: Record<string, string>): Promise<void> {
  await expect
    .poll(() =>
      nodes.map(({ keys }) => ({ ...Object.fromEntries(keys.values), waiting: keys.changes(1).length })),
    )
    .toEqual(nodes.map(() => ({ ...expected, waiting: 0 })));
}

/** Writes the first entry that a key had over its last one, as somebody can who may write into the store and has no secret. */
const PUT_BACK = `
  local one = cmsgpack.unpack(ARGV[2])
  local counter = tonumber(redis.call('HGET', KEYS[2], 'c')) + 10
  redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack({ counter, one[2] }))
  redis.call('ZREM', KEYS[4], ARGV[1])
  redis.call('XADD', KEYS[3], (counter - 5) .. '-0', 'some', 'thing')
  redis.call('HSET', KEYS[2], 'c', counter)`;

const putBacks = [
  { it: 'a value', first: 'on', last: 'off' },
  { it: 'a deleted value', first: 'on', last: undefined },
  { it: 'a deletion', first: undefined, last: 'on' },
];
for (const { it, first, last } of putBacks) {
  test(`${it} that somebody puts back counts on no node, and the store gets the later one again`, async () => {
    const { a, b, server, namespace, start } = await pair();
    const key = `gw:{${namespace}:di:a}`;
    const { client } = server;
    const set = async (value: string | undefined): Promise<void> => {
      a.keys.set('flag', value);
      await expectValues([a, b], { other: '1', ...(value !== undefined && { flag: value }) });
    };
    a.keys.set('other', '1');
    await set('before');
    await set(first);
    const kept = (await client.hgetBuffer(`${key}:k`, 'flag')) as Buffer;
    await set(last);
    await client.eval(PUT_BACK, 4, `${key}:k`, `${key}:n`, key, `${key}:x`, 'flag', kept);
    await expect
      .poll(() => Math.min(a.counts['rejected'] ?? 0, b.counts['rejected'] ?? 0))
      .toBeGreaterThan(0);
    const expected = { other: '1', ...(last !== undefined && { flag: last }) };
    await expectValues([a, b], expected);
    const later = async (): Promise<boolean> =>
      !((await client.hgetBuffer(`${key}:k`, 'flag')) ?? kept).includes(kept.subarray(-40));
    await expect.poll(later).toBe(true);
    await expectValues([a, b, start('c')], expected);
  });
}

test('an entry that is much older than those before it is dropped', async () => {
  const { namespace, start, server } = await cluster();
  const { store, seal } = await readyStore({ url: server.url, namespace });
  const entry = (key: string, ageMs: number): ReturnType<typeof keyEntryOf> =>
    keyEntryOf({ seal }, { key, value: 'v' }, Date.now() - ageMs);
  const a = start('a');
  await expect.poll(() => isUp(a)).toBe(true);
  await store.write('di:a', [entry('new', 0), entry('old', 600_000), entry('next', 0)]);
  await expectValues([a], { new: 'v', next: 'v' });
  expect(a.counts['rejected']).toBe(1);
});

test('what one node sets and deletes all have', async () => {
  const { a, b } = await pair();
  a.keys.set('x', '1');
  a.keys.set('y', '2');
  await expectValues([a, b], { x: '1', y: '2' });
  b.keys.set('x');
  b.keys.set('y', '3');
  await expectValues([a, b], { y: '3' });
  await expect.poll(() => a.counts).toMatchObject({ sent: 2, received: 2 });
  expect(a.log).toEqual([]);
});

test('a node that starts gets all keys, also those whose entries are not in the stream any more', async () => {
  const { a, start } = await pair();
  const many = Object.fromEntries(Array.from({ length: 2_500 }, (_, nth) => [`k${nth}`, String(nth)]));
  for (const [key, value] of Object.entries(many)) a.keys.set(key, value);
  await expectValues([a], many);
  await expectValues([start('c')], many);
});

test('of changes at the same time the first in the store stays, and the others are told', async () => {
  const { a, b } = await pair();
  for (let nth = 0; nth < 20; nth += 1) for (const one of [a, b]) one.keys.set(`k${nth}`, one.node.nodeId);
  await expect.poll(() => (a.counts['conflict'] ?? 0) + (b.counts['conflict'] ?? 0)).toBe(20);
  await expectValues([b], Object.fromEntries(a.keys.values));
  const told = [...a.events, ...b.events];
  expect(told.sort()[0]).toBe('cluster_conflict {"stream":"di:a","key":"k0"}');
  expect(told).toHaveLength(20);
  const warned =
    'warn: cluster "main": the change of "k0" in "di:a" was given up: another node had changed it first';
  expect([...a.log, ...b.log].filter((line) => line === warned)).toHaveLength(1);
});

test('changes to the same value are no conflict', async () => {
  const { a, b } = await pair();
  for (const one of [a, b]) one.keys.set('k', 'same');
  await expectValues([a, b], { k: 'same' });
  expect([a.counts['conflict'], b.counts['conflict']]).toEqual([undefined, undefined]);
});

test('while the store hangs nodes go on, and what was changed twice is given up by the one that is late', async () => {
  const { a, b, server } = await pair('--appendonly', 'no');
  a.keys.set('k', 'first');
  await expectValues([a, b], { k: 'first' });
  server.signal('SIGSTOP');
  await expect.poll(() => isUp(a) || isUp(b)).toBe(false);
  a.keys.set('mine', 'a');
  a.keys.set('k', 'a');
  b.keys.set('k', 'b');
  expect([a.keys.values.get('k'), b.keys.values.get('k')]).toEqual(['a', 'b']);
  server.signal('SIGCONT');
  await expect.poll(() => (a.counts['conflict'] ?? 0) + (b.counts['conflict'] ?? 0)).toBe(1);
  const stays = a.counts['conflict'] ? 'b' : 'a';
  await expectValues([a, b], { k: stays, mine: 'a' });
});

test('a store that has lost its memory gets everything again', async () => {
  const { a, b, server, start } = await pair('--appendonly', 'no');
  a.keys.set('x', '1');
  b.keys.set('y', '2');
  await expectValues([a, b], { x: '1', y: '2' });
  await server.client.flushall();
  await expectValues([start('c')], { x: '1', y: '2' });
  await expectValues([a, b], { x: '1', y: '2' });
  expect(Math.max(a.counts['gap'] ?? 0, b.counts['gap'] ?? 0)).toBeGreaterThan(0);
  await expect
    .poll(() => [a, b].map(({ counts }) => counts['resynced']))
    .toEqual([a, b].map(({ counts }) => counts['gap']));
});

const amounts = [
  { it: 'a little', more: 1 },
  { it: 'more than it had', more: 5 },
];
for (const { it, more } of amounts)
  test(`a store that was emptied, and has got ${it} since, takes nothing from the nodes`, async () => {
    const { a, b, server, namespace, start } = await pair();
    const gone = start('gone');
    for (const key of ['x', 'y', 'mine']) gone.keys.set(key, 'old');
    await expectValues([a, b, gone], { x: 'old', y: 'old', mine: 'old' });
    await gone.close();
    // It gets them in another database, which takes the place of the first one: the nodes must not see it empty.
    const other = await readyStore({ url: `${server.url}/1`, namespace });
    const since = Array.from({ length: more }, (_, nth) => [`z${nth}`, 'new'] as const);
    const writes = [...since, ['mine', 'new'] as const].map(([key, value]) =>
      keyEntryOf(other, { key, value, origin: 'gw-c' }),
    );
    await other.store.write('di:a', writes);
    await server.client.swapdb(0, 1);
    const expected = { x: 'old', y: 'old', mine: 'new', ...Object.fromEntries(since) };
    await expectValues([a, b, start('late')], expected);
  });

test('a node that leaves gives back what it did for all', async () => {
  const { a, b } = await pair();
  expect([await a.node.lease('up:a', 60_000), await b.node.lease('up:a', 60_000)]).toEqual([true, false]);
  await a.close();
  expect(await b.node.lease('up:a', 60_000)).toBe(true);
});

test('after a failover that has lost the last changes they are sent again', async () => {
  const { a, b, server, namespace } = await pair('--appendonly', 'no');
  a.keys.set('x', 'old');
  await expectValues([a, b], { x: 'old' });
  const key = `gw:{${namespace}:di:a}`;
  const kept = await Promise.all([key, `${key}:n`, `${key}:k`].map((one) => server.client.dumpBuffer(one)));
  a.keys.set('x', 'new');
  b.keys.set('y', 'new');
  await expectValues([a, b], { x: 'new', y: 'new' });
  // As a replica that had not got the last entries.
  const failover = server.client.multi();
  for (const [nth, one] of [key, `${key}:n`, `${key}:k`].entries())
    failover.restore(one, 0, kept[nth] as Buffer, 'REPLACE');
  await failover.exec();
  await expect.poll(() => (a.counts['gap'] ?? 0) + (b.counts['gap'] ?? 0)).toBeGreaterThan(0);
  await expectValues([a, b], { x: 'new', y: 'new' });
  expect(a.counts['conflict']).toBeUndefined();
});

test('entries that are forged, repeated or refused change nothing', async () => {
  const { a, b, server, namespace } = await pair();
  const one = await readyStore({ url: server.url, namespace });
  const forged = { ...keyEntryOf(one, { value: 'forged' }), mac: 'A'.repeat(43) };
  await one.store.write('di:a', [forged]);
  await one.store.write('di:a', [keyEntryOf(one, { key: 'r', value: 'refused' })]);
  await expect.poll(() => [a, b].map(({ counts }) => counts['rejected'])).toEqual([2, 2]);
  a.keys.set('k', 'genuine');
  await expectValues([a, b], { k: 'genuine' });
  const stream = await server.client.xrange(`gw:{${namespace}:di:a}`, '-', '+');
  const [, fields] = stream.at(-1) as [string, string[]];
  b.keys.set('k', 'later');
  await expectValues([a, b], { k: 'later' });
  await server.client.xadd(`gw:{${namespace}:di:a}`, '5-0', ...fields);
  await expect.poll(() => b.counts['duplicate']).toBe(1);
  await expectValues([a, b], { k: 'later' });
});
