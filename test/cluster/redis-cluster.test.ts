import { expect, test, vi } from 'vitest';
import { StoreLost } from '../../src/cluster/index.ts';
import { keySlot } from '../../src/cluster/stores/redis/servers/key-slot.ts';
import { meet, redisCluster, startServer } from '../harness/redis-cluster.ts';
import type { TestRedis } from '../harness/redis.ts';
import { clusterOf, payloadsOf, publishAll, startPair } from './gateways.ts';
import { startLightNode, TestKeys } from './keys.ts';
import {
  countersOf,
  entriesOf,
  freshNamespace,
  openStore,
  readOn,
  readyStore,
  type RedisTestStore,
} from './stores.ts';

test('the slot of a key is that of its hash tag', async () => {
  const { slotOf } = await redisCluster();
  for (const key of [
    '',
    'a',
    'foo{}{bar}',
    'foo{{bar}}',
    '{a}b',
    'a{b}{c}',
    'x{',
    '}{a}',
    'ü{ö}',
    '{\n}',
    'gw:{gw:ev:bus}:n',
  ])
    expect([key, keySlot(key)]).toEqual([key, await slotOf(key)]);
});

test('streams of all servers are read, whichever of them has something', async () => {
  const { url, servers } = await redisCluster();
  const one = await readyStore({ url });
  const streams = Array.from({ length: 9 }, (_, nth) => `ev:${nth}`);
  for (const stream of streams)
    expect(await one.store.append(stream, entriesOf(one, { stream, count: 3 }))).toEqual([1, 2, 3]);
  const behind = new Map(streams.map((stream) => [stream, 0]));
  const found = new Map<string, readonly number[]>();
  while (found.size < streams.length) {
    for (const [stream, entries] of await one.store.read(behind, 1_000)) {
      found.set(stream, countersOf(entries));
      behind.set(stream, entries.at(-1)?.counter ?? 0);
    }
  }
  expect([...found.values()]).toEqual(streams.map(() => [1, 2, 3]));
  const waiting = one.store.read(behind, 20_000);
  await one.store.append('ev:4', entriesOf(one, { stream: 'ev:4', first: 4 }));
  expect([...(await waiting).keys()]).toEqual(['ev:4']);
  const sizes = await Promise.all(servers.map(({ client }) => client.dbsize()));
  expect(Math.min(...sizes)).toBeGreaterThan(0);
  expect(countersOf(await readOn(one, 'ev:4'))).toEqual([1, 2, 3, 4]);
});

/** Follows a stream until a counter, while entries are added one after another. */
async function followed(one: RedisTestStore, stream: string, last: number): Promise<readonly number[]> {
  const counters: number[] = [];
  while ((counters.at(-1) ?? 0) < last) {
    const found = await one.store.read(new Map([[stream, counters.at(-1) ?? 0]]), 1_000);
    counters.push(...countersOf(found.get(stream)));
  }
  return counters;
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, nth) => nth + 1);

test('a slot that moves to another server takes its stream along, and nothing is lost meanwhile', async () => {
  const cluster = await redisCluster();
  const one = await readyStore({ url: cluster.url });
  const key = one.key('ev:a');
  const slot = await cluster.slotOf(key);
  const from = cluster.serverOf(slot);
  const to = cluster.servers.find((server) => server !== from) as TestRedis;
  const [fromId, toId] = await Promise.all([from, to].map(({ client }) => client.cluster('MYID')));
  let last = 0;
  const add = async (): Promise<void> => {
    const [counter] = await one.store.append('ev:a', entriesOf(one, { first: last + 1 }));
    expect(counter).toBe((last += 1));
  };
  await add();
  const following = followed(one, 'ev:a', 8);
  await to.client.cluster('SETSLOT', slot, 'IMPORTING', fromId as string);
  await from.client.cluster('SETSLOT', slot, 'MIGRATING', toId as string);
  await add();
  await from.client.migrate(to.host, to.port, key, 0, 5_000);
  // One of the two keys is there, the other one here.
  const adding = add();
  await expect.poll(() => errorsOf(from)).toMatch(/TRYAGAIN/);
  await from.client.migrate(to.host, to.port, `${key}:n`, 0, 5_000);
  await adding;
  await add();
  for (const { client } of [to, from, ...cluster.servers])
    await client.cluster('SETSLOT', slot, 'NODE', toId as string);
  for (let more = 0; more < 4; more += 1) await add();
  expect(await following).toEqual(upTo(8));
  // A new store finds it at once.
  expect(
    countersOf(await readOn(await readyStore({ url: cluster.url, namespace: one.seal.namespace }), 'ev:a')),
  ).toEqual(upTo(8));
  expect(one.told).toEqual(['up']);
  expect(await errorsOf(from)).toMatch(/ASK[^]*MOVED[^]*TRYAGAIN/);
});

const errorsOf = ({ client }: TestRedis): Promise<string> => client.info('errorstats');

/** Streams of a namespace, one for each server, in their order. */
async function streamsOf(
  { servers, slotOf, serverOf }: Awaited<ReturnType<typeof redisCluster>>,
  one: Pick<RedisTestStore, 'key'>,
): Promise<readonly string[]> {
  const streams = new Map<TestRedis, string>();
  for (let nth = 0; streams.size < servers.length; nth += 1)
    streams.set(serverOf(await slotOf(one.key(`ev:${nth}`))), `ev:${nth}`);
  return servers.map((server) => streams.get(server) as string);
}

test('without one of its servers a store goes on with the others, and says what is missing', async () => {
  const cluster = await redisCluster();
  const one = await readyStore({ url: cluster.url, timeoutMs: 500 });
  const streams = await streamsOf(cluster, one);
  for (const stream of streams) await one.store.append(stream, entriesOf(one, { stream }));
  const [first, second] = streams as [string, string];
  const lost = cluster.servers[1] as TestRedis;
  const waiting = one.store.read(new Map(streams.map((stream) => [stream, 1])), 20_000);
  await lost.stop('SIGKILL');
  const refused = `1 of 3 servers: 127.0.0.1:${lost.port}: connect ECONNREFUSED 127.0.0.1:${lost.port}`;
  await expect.poll(() => one.told.at(-1)).toBe(refused);
  expect(streams.map((stream) => one.isAway(stream))).toEqual([false, true, false]);
  await expect(one.store.append(second, entriesOf(one, { stream: second, first: 2 }))).rejects.toThrow(
    StoreLost,
  );
  expect(await one.store.append(first, entriesOf(one, { stream: first, first: 2 }))).toEqual([2]);
  expect([...(await waiting).keys()]).toEqual([first]);
  await lost.start();
  await expect.poll(() => one.told.at(-1)).toBe('up');
  await vi.waitFor(
    async () =>
      expect(await one.store.append(second, entriesOf(one, { stream: second, first: 2 }))).toEqual([1]),
    10_000,
  );
});

/** Keys that are in a stream of another name. */
class OtherKeys extends TestKeys {
  override readonly stream: string;

  constructor(stream: string) {
    super();
    this.stream = stream;
  }
}

test('nodes go on with the streams that they can reach, and catch up with the others', async () => {
  const cluster = await redisCluster();
  const namespace = freshNamespace();
  const [kept = '', away = ''] = await streamsOf(cluster, { key: (stream) => `gw:{${namespace}:${stream}}` });
  const nodes = ['a', 'b'].map((id) => {
    const { node, log } = startLightNode(id, { url: cluster.url, namespace });
    const keys = { kept: new OtherKeys(kept), away: new OtherKeys(away) };
    for (const one of Object.values(keys)) node.addKeyed(one);
    return { node, log, keys };
  });
  const haveAll = (name: 'kept' | 'away', values: Record<string, string>): Promise<void> =>
    expect
      .poll(() => nodes.map(({ keys }) => Object.fromEntries(keys[name].values)))
      .toEqual(nodes.map(() => values));
  const stateOf = (): string[] => nodes.map(({ node }) => node.status.state);
  const [a] = nodes as [(typeof nodes)[0]];
  const lost = cluster.servers[1] as TestRedis;
  await expect.poll(stateOf).toEqual(['up', 'up']);
  for (const name of ['kept', 'away'] as const) a.keys[name].set('x', '1');
  for (const name of ['kept', 'away'] as const) await haveAll(name, { x: '1' });
  await lost.stop('SIGKILL');
  await expect.poll(stateOf).toEqual(['down', 'down']);
  for (const name of ['kept', 'away'] as const) a.keys[name].set('y', '2');
  await haveAll('kept', { x: '1', y: '2' });
  expect(a.node.status.reason).toMatch(/^1 of 3 servers: 127\.0\.0\.1:\d+: /);
  const lag = (stream: string): number | undefined =>
    a.node.status.streams.find((one) => one.stream === stream)?.lag_ms;
  await expect.poll(() => [lag(kept), lag(away)]).toEqual([0, expect.not.closeTo(0, 0)]);
  await lost.start();
  await haveAll('away', { x: '1', y: '2' });
  await expect.poll(stateOf).toEqual(['up', 'up']);
  expect(a.log[0]).toMatch(/^error: .*a part of the store cannot be reached: 1 of 3 servers/);
  expect(a.log).toContainEqual(expect.stringMatching(/^notice: .*more of the store is reached again/));
});

test('gateways share events through a Redis Cluster', async (t) => {
  const { url } = await redisCluster();
  const [a, b] = await startPair(t, { backend: url });
  await publishAll(a, ['one']);
  await expect.poll(() => payloadsOf(b)).toEqual(['one']);
  expect((await clusterOf(b)).backend).toBe(url);
});

test('a server that is killed is replaced by its replica', async () => {
  const cluster = await redisCluster();
  const one = await readyStore({ url: cluster.url, timeoutMs: 500 });
  const [, stream = ''] = await streamsOf(cluster, one);
  const lost = cluster.servers[1] as TestRedis;
  const replica = await startServer();
  await meet(replica.client, cluster.servers[0] as TestRedis);
  const id = await lost.client.cluster('MYID');
  await vi.waitFor(() => replica.client.cluster('REPLICATE', id as string), 10_000);
  await expect.poll(() => replica.client.info('replication')).toContain('master_link_status:up');
  // A replica that does not know the slots of its master would not replace it.
  await expect
    .poll(async () => JSON.stringify(await replica.client.cluster('SLOTS')))
    .toContain(`${lost.port}`);
  expect(await one.store.append(stream, entriesOf(one, { stream, count: 3 }))).toEqual([1, 2, 3]);
  // WAIT would tell of what its own connection has written.
  const offsetOf = async ({ client }: TestRedis): Promise<string | undefined> =>
    /^(?:master|slave)_repl_offset:(\d+)/m.exec(await client.info('replication'))?.[1];
  await expect.poll(async () => (await offsetOf(replica)) === (await offsetOf(lost))).toBe(true);
  await lost.stop('SIGKILL');
  await expect.poll(() => one.told.at(-1)).toMatch(/^1 of 3 servers/);
  await expect.poll(() => one.told.at(-1)).toBe('up');
  await vi.waitFor(async () => expect(countersOf(await readOn(one, stream))).toEqual([1, 2, 3]), 10_000);
  expect(await one.store.append(stream, entriesOf(one, { stream, first: 4 }))).toEqual([4]);
});

test('while no server of a Redis Cluster can be reached the store is down', async () => {
  const one = await openStore({ url: 'redis+cluster://127.0.0.1:1,127.0.0.1:2' });
  const reason = 'no server tells the slots: 127.0.0.1:2: connect ECONNREFUSED 127.0.0.1:2';
  await expect.poll(() => one.told).toEqual([reason]);
  await expect(one.store.append('ev:a', entriesOf(one))).rejects.toThrow(new StoreLost(reason));
  await expect(one.store.read(new Map([['ev:a', 0]]), 60_000)).rejects.toThrow(new StoreLost(reason));
});
