import { beforeAll, expect, test } from 'vitest';
import { gw as runGw } from '../cli/command.ts';
import { openEvents } from '../harness/event-source.ts';
import type { Gateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { redis, type TestRedis } from '../harness/redis.ts';
import {
  clusterOf,
  eventsOf,
  joined,
  nodeConf,
  numbered,
  payloadsOf,
  publishAll,
  sorted,
  startNode,
  startPair,
} from './gateways.ts';

const file = wholeFile();
let store: TestRedis;
let a: Gateway;
let b: Gateway;

beforeAll(async () => {
  store = await redis();
  [a, b] = await startPair(file, { backend: store.url, fresh: true });
});

test('what one gateway publishes all have, once, with the time and the name of its publisher', async () => {
  await publishAll(a, ['tag:a']);
  await expect.poll(() => payloadsOf(b)).toEqual(['tag:a']);
  const [there] = await eventsOf(a);
  const [here] = await eventsOf(b);
  expect(here).toEqual({ ...there, generation: here?.generation });
  expect(here).toMatchObject({ origin: 'a', seq: there?.generation, channel: 'news', type: 'told' });
});

test('each has the events of a publisher in their order, and those of both once', async () => {
  const before = (await payloadsOf(a)).length;
  await Promise.all([publishAll(a, numbered('from a', 100)), publishAll(b, numbered('from b', 100))]);
  for (const gw of [a, b]) {
    await expect.poll(async () => (await payloadsOf(gw)).length).toBe(before + 200);
    const told = (await payloadsOf(gw)).slice(before);
    for (const name of ['from a', 'from b'])
      expect(told.filter((payload) => payload?.startsWith(name))).toEqual(numbered(name, 100));
  }
});

test('a gateway that starts later has the events of before', async (t) => {
  const before = await payloadsOf(a);
  const late = await startNode(t, { id: 'gw-late', backend: store.url });
  await expect.poll(async () => sorted(await payloadsOf(late))).toEqual(sorted(before));
  await publishAll(late, ['from late']);
  await expect.poll(() => payloadsOf(a)).toContain('from late');
});

test('a gateway that was killed has the events again, its own among them', async (t) => {
  const spec = { id: 'gw-killed', backend: store.url, expectAlerts: true };
  const first = await startNode(t, spec);
  await joined(first);
  await publishAll(first, ['before the end']);
  await expect.poll(() => payloadsOf(a)).toContain('before the end');
  await first.stop('SIGKILL');
  const again = await startNode(t, spec);
  await expect.poll(async () => sorted(await payloadsOf(again))).toEqual(sorted(await payloadsOf(a)));
  // It counts its events anew, and nobody takes them for those of its former life.
  await publishAll(again, ['after the end']);
  await expect.poll(() => payloadsOf(a)).toContain('after the end');
});

test('a client that hops between gateways misses no event', async (t) => {
  const seen = new Set<string>();
  const told = numbered('hop', 60);
  const publishing = (async () => {
    for (const [i, payload] of told.entries()) await publishAll(i % 2 === 0 ? a : b, [payload]);
  })();
  let lastId: string | undefined;
  for (let hop = 0; seen.size < told.length; hop += 1) {
    const gw = hop % 2 === 0 ? a : b;
    const since = lastId === undefined ? '?since=0' : '';
    const client = await openEvents(t, `${gw.url}/events${since}`, {
      ...(lastId !== undefined && { 'last-event-id': lastId }),
    });
    await client.until(Math.min(7, told.length - seen.size));
    for (const { data } of client.events) {
      const { payload } = JSON.parse(data) as { payload: string };
      if (payload.startsWith('hop')) seen.add(payload);
    }
    lastId = client.lastId;
    client.close();
  }
  await publishing;
  expect(sorted([...seen])).toEqual(sorted(told));
});

test('since takes the id of an event on another gateway', async (t) => {
  // An id has the position up to which its gateway had the stream by then.
  for (const gw of [a, b]) await expect.poll(async () => (await clusterOf(gw)).buffer_bytes).toBe(0);
  const told = await store.client.xlen('gw:{gw:ev:bus}');
  await expect.poll(async () => (await clusterOf(a)).streams[0]?.position).toBe(told);
  await publishAll(a, ['since 1', 'since 2', 'since 3']);
  await expect.poll(() => payloadsOf(b)).toContain('since 3');
  const client = await openEvents(t, `${a.url}/events?since=0`);
  await expect.poll(() => client.events.some(({ data }) => data.includes('since 3'))).toBe(true);
  const { id } = client.events.find(({ data }) => data.includes('since 1')) ?? { id: '' };
  for (const gw of [a, b]) {
    const after = (await eventsOf(gw, `?since=${encodeURIComponent(id)}`)).map(({ payload }) => payload);
    expect(after).toEqual(expect.arrayContaining(['since 2', 'since 3']) as string[]);
    expect(after.length).toBeLessThanOrEqual(3);
  }
  const { status } = await a.fetch('/events?since=7/a');
  expect(status).toBe(400);
});

test('the API, the command and the metrics tell of the cluster', async () => {
  await expect
    .poll(async () => (await clusterOf(a)).members.map(({ node_id: id }) => id))
    .toEqual(expect.arrayContaining(['a', 'b']) as string[]);
  expect(await clusterOf(a)).toMatchObject({
    name: 'main',
    node_id: 'a',
    state: 'up',
    backend: `127.0.0.1:${store.port}`,
    streams: [{ stream: 'ev:bus', gaps: 0 }],
    buffer_bytes: 0,
  });
  const metrics = (await a.fetch('/metrics')).body;
  expect(metrics).toMatch(/^gw_cluster_up\{cluster="main"\} 1$/m);
  expect(metrics).toMatch(/^gw_cluster_sent_total\{cluster="main"\} [1-9]\d*$/m);
  expect(metrics).toMatch(/^gw_cluster_received_total\{cluster="main"\} [1-9]\d*$/m);
  for (const name of ['duplicates', 'resyncs'])
    expect(metrics).toMatch(new RegExp(`^gw_cluster_${name}_total\\{cluster="main"\\} 0$`, 'm'));
});

test('each node tells which configuration it serves', async () => {
  const served = async () => (await clusterOf(b)).members.find(({ node_id: id }) => id === 'a');
  const { configuration = '' } = (await served()) ?? {};
  expect(configuration).toMatch(/^[0-9a-f]{12}$/);
  await a.reload(`${nodeConf({ id: 'a', backend: store.url })} # changed`);
  await expect.poll(async () => (await served())?.configuration).not.toBe(configuration);
  await a.reload(nodeConf({ id: 'a', backend: store.url }));
  await expect.poll(async () => (await served())?.configuration).toBe(configuration);
});

test('gw cluster status prints nodes and streams, and says so if the store is away', async (t) => {
  const { code, stdout } = await runGw(a.dir, ['cluster', 'status', '-c', a.conf, '-p', a.dir]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^cluster main: up\nthis node +a\nstore +127\.0\.0\.1:\d+\nbuffer +empty$/m);
  expect(stdout).toMatch(/^b +\S+ +\d+\.\d s ago +[0-9a-f]{12} +\d+ \S+ ago$/m);
  expect(stdout).toMatch(/^ev:bus +events of bus +\d+ +\d+ ms +0$/m);
  const alone = await startNode(t, { id: 'alone', backend: `redis://127.0.0.1:${await freePort()}` });
  await expect.poll(async () => (await clusterOf(alone)).state).toBe('down');
  const away = await runGw(alone.dir, ['cluster', 'status', '-c', alone.conf, '-p', alone.dir]);
  expect(away).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('down, connect ECONNREFUSED') as string,
  });
});
