import { expect, test } from 'vitest';
import type { Gateway } from '../harness/gateway.ts';
import { redis } from '../harness/redis.ts';
import { sabotage, SABOTAGED } from '../master/saboteur.ts';
import {
  clusterOf,
  eventsOf,
  joined,
  nodeConf,
  numbered,
  payloadsOf,
  publishAll,
  startNode,
  startPair,
} from './gateways.ts';

const STREAM = 'gw:{gw:ev:bus}';
const metricOf = async (gw: Gateway, name: string): Promise<number> =>
  Number(new RegExp(`^${name}\\{.*\\} (\\d+)$`, 'm').exec((await gw.fetch('/metrics')).body)?.[1]);

test('copies of an entry that come in one read are in the ring once', async (t) => {
  const { url, client } = await redis('--databases', '13');
  const [a, b] = await startPair(t, { backend: url });
  await publishAll(a, ['one']);
  await expect.poll(() => payloadsOf(b)).toEqual(['one']);
  const late = await startNode(t, { id: 'late', backend: url });
  await joined(late);
  await publishAll(a, ['two']);
  await expect.poll(() => client.xlen(STREAM)).toBe(2);
  const [, [, fields]] = (await client.xrange(STREAM, '-', '+')) as [unknown, [string, string[]]];
  await client
    .multi()
    .xadd(STREAM, '3-0', ...fields)
    .xadd(STREAM, '4-0', ...fields)
    .exec();
  await client.hset(`${STREAM}:n`, 'c', 4);
  await publishAll(a, ['three']);
  for (const gw of [a, b, late]) await expect.poll(() => payloadsOf(gw)).toEqual(['one', 'two', 'three']);
});

test('what the store refuses is sent again, and the cluster counts as down until then', async (t) => {
  const { url, client } = await redis('--databases', '14');
  const [a, b] = await startPair(t, { backend: url });
  await client.config('SET', 'maxmemory', '1');
  await publishAll(a, ['refused']);
  await expect.poll(async () => (await clusterOf(a)).state).toBe('down');
  await client.config('SET', 'maxmemory', '0');
  await expect.poll(() => payloadsOf(b)).toEqual(['refused']);
  await expect.poll(async () => (await clusterOf(a)).state).toBe('up');
});

test('when the worker that runs the node crashes another one goes on, and no event is lost or doubled', async (t) => {
  const { url } = await redis('--databases', '12');
  const [a, b] = await Promise.all([
    startNode(t, { id: 'a', backend: url, ...SABOTAGED, workers: 1, expectAlerts: true }),
    startNode(t, { id: 'b', backend: url }),
  ]);
  await Promise.all([a, b].map(joined));
  sabotage(a, 'throw');
  const told: string[] = [];
  // The connection of a request may end with the worker: then nobody knows whether it was published.
  const tell = async (payload: string): Promise<boolean> => {
    const isTold = await publishAll(a, [payload]).then(
      () => true,
      () => false,
    );
    if (isTold) told.push(payload);
    return isTold;
  };
  for (const payload of numbered('before or after', 30)) {
    await publishAll(b, [`other ${payload}`]);
    told.push(`other ${payload}`);
    await tell(payload);
  }
  expect(told.length).toBeGreaterThan(50);
  await a.waitForLog(/worker 1 was started again/);
  let attempts = 0;
  await expect.poll(() => tell(`later ${(attempts += 1)}`)).toBe(true);
  for (const gw of [a, b]) {
    await expect.poll(() => payloadsOf(gw)).toEqual(expect.arrayContaining(told) as string[]);
    const payloads = await payloadsOf(gw);
    expect(payloads).toHaveLength(new Set(payloads).size);
  }
  const own = (await payloadsOf(b)).filter((payload) => payload?.startsWith('before'));
  expect(own).toEqual(numbered('before or after', 30).filter((payload) => own.includes(payload)));
});

test('a reload with other settings of the cluster doubles and loses nothing', async (t) => {
  const { url } = await redis('--databases', '15');
  const [a, b] = await startPair(t, { backend: url });
  let isDone = false;
  const publishing = (async () => {
    for (let i = 0; i < 300; i += 1) await publishAll(i % 2 === 0 ? a : b, [`event ${i}`]);
    isDone = true;
  })();
  for (let turn = 1; !isDone && turn < 6; turn += 1)
    await a.reload(nodeConf({ id: 'a', backend: url, more: `buffer ${turn}m;` }));
  await publishing;
  for (const gw of [a, b])
    await expect
      .poll(async () => (await payloadsOf(gw)).map(String).toSorted(), { timeout: 10_000 })
      .toEqual(numbered('event', 300).toSorted());
});

test('a ring of another size has the events of the old one sent, and the room of its buffer is free again', async (t) => {
  const store = await redis('--databases', '16', '--timeout', '0');
  const [a, b] = await startPair(t, { backend: store.url });
  store.signal('SIGSTOP');
  await publishAll(a, numbered('before', 20));
  await a.reload(nodeConf({ id: 'a', backend: store.url, ringSize: 512 }));
  await publishAll(a, numbered('behind', 5));
  store.signal('SIGCONT');
  await expect
    .poll(async () => (await payloadsOf(b)).map(String).toSorted(), { timeout: 10_000 })
    .toEqual([...numbered('before', 20), ...numbered('behind', 5)].toSorted());
  await expect.poll(async () => (await clusterOf(a)).buffer_bytes).toBe(0);
});

test('events that were published while a ring was not shared stay where they are', async (t) => {
  const { url } = await redis('--databases', '17');
  const [a, b] = await startPair(t, { backend: url });
  await a.reload(nodeConf({ id: 'a', backend: url, shares: '' }));
  await expect.poll(async () => (await clusterOf(a)).streams).toEqual([]);
  await publishAll(a, ['private']);
  await a.reload(nodeConf({ id: 'a', backend: url }));
  await joined(a);
  await publishAll(a, ['shared']);
  await expect.poll(() => payloadsOf(b)).toEqual(['shared']);
});

test('many jumps of the counter are one gap, and push no event out of the ring', async (t) => {
  const { url, client } = await redis('--databases', '18');
  const [a, b] = await startPair(t, { backend: url, fresh: true });
  await publishAll(a, ['genuine']);
  await expect.poll(() => payloadsOf(b)).toEqual(['genuine']);
  const forged = client.multi();
  for (let counter = 10; counter < 2_000; counter += 2) forged.xadd(STREAM, `${counter}-0`, 'junk', 'junk');
  await forged.exec();
  await expect.poll(() => metricOf(b, 'gw_cluster_rejected_total')).toBe(995);
  const events = await eventsOf(b);
  expect(events[0]).toMatchObject({ payload: 'genuine' });
  expect(events.filter(({ type }) => type === 'cluster_gap').length).toBeLessThan(10);
});

test('a large ring is filled while the workers go on', async (t) => {
  const { url } = await redis('--databases', '19');
  const spec = { backend: url, ringSize: 20_000, more: 'retain 20000;' };
  const a = await startNode(t, { id: 'a', ...spec });
  await joined(a);
  await Promise.all(Array.from({ length: 50 }, (_, lane) => publishAll(a, numbered(`lane ${lane}`, 100))));
  const b = await startNode(t, { id: 'b', ...spec });
  // Each look takes all events, so there are few of them.
  const look = { timeout: 40_000, interval: 500 };
  await expect.poll(async () => (await payloadsOf(b)).length, look).toBe(5_000);
  expect(b.errorLog()).not.toContain('does not respond');
}, 60_000);
