import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { schemaSql, StoreLost } from '../../src/cluster/index.ts';
import { RingSubject } from '../../src/cluster/subjects/ring-subject.ts';
import { createZone, openRing, zoneIdentity } from '../../src/zone/index.ts';
import { ownPostgres } from '../harness/own-postgres.ts';
import { wholeFile } from '../harness/owner.ts';
import { perTier } from '../harness/tier.ts';
import { startKeyedNode, startLightNode } from './keys.ts';
import { lossyProxy } from './lossy-proxy.ts';
import {
  clusterDatabase,
  countersOf,
  entriesOf,
  freshNamespace,
  GATEWAY_ROLE,
  gatewayDsn,
  openPostgresStore,
  ownDatabase,
  readOn,
  readyPostgresStore,
} from './stores.ts';

type Server = Awaited<ReturnType<typeof ownPostgres>>;

const file = wholeFile();
let server: Server;
beforeAll(async () => {
  server = await ownPostgres(file, schemaSql({ role: GATEWAY_ROLE }));
});

const urlOf = ({ dsn }: Server): string => gatewayDsn({ adminDsn: dsn });

/** The processes of the gateways' sessions. */
async function backendsOf({ query }: Pick<Server, 'query'>): Promise<readonly number[]> {
  const sql = `select pid from pg_stat_activity where usename = '${GATEWAY_ROLE}' and datname = current_database()`;
  return (await query<{ pid: number }>(sql)).map(({ pid }) => pid);
}

/** A node without a gateway that shares the events of a ring. */
function startEventNode(id: string, options: Parameters<typeof startLightNode>[1]) {
  const memory = createZone({ name: id, kind: 'ring', capacity: 4_096 });
  const ring = openRing(memory, 1);
  const names = [id];
  const originOf = (name: string): number => {
    if (!names.includes(name)) names.push(name);
    return names.indexOf(name) + 1;
  };
  const node = startLightNode(id, options);
  const identity = zoneIdentity(memory);
  node.node.add(new RingSubject({ zone: 'bus', ring, identity, store: 1, originOf, self: () => 1 }));
  return {
    ...node,
    publish: (payload: string) => void ring.publish({ channel: 'news', type: 'told', payload }),
    payloads(): readonly string[] {
      const { oldest, newest } = ring.range() ?? { oldest: 1, newest: 0 };
      const all = Array.from({ length: newest - oldest + 1 }, (_, nth) => ring.read(oldest + nth));
      return all.flatMap((entry) => (entry?.channel === 'news' ? [entry.payload ?? ''] : []));
    },
  };
}

type EventNode = ReturnType<typeof startEventNode>;
type KeyedNode = ReturnType<typeof startKeyedNode>;

const disasters: readonly { readonly what: string; act(server: Server): Promise<void> }[] = [
  {
    what: 'the server is restarted',
    async act(server) {
      await server.stop();
      await server.start();
    },
  },
  {
    what: 'a backend is killed, which ends all of them',
    async act(server) {
      const [pid = 0] = await backendsOf(server);
      process.kill(pid, 'SIGKILL');
    },
  },
  {
    what: 'sessions are terminated again and again',
    async act({ query }) {
      const sql = `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${GATEWAY_ROLE}'`;
      for (let nth = 0; nth < 10; nth++) await query(sql);
    },
  },
];
test('events and keys outlive restarts, killed backends and terminated sessions, each once and in order', async () => {
  const options = { url: urlOf(server), namespace: freshNamespace() };
  const [a, b] = ['a', 'b'].map((id) => startEventNode(id, options)) as [EventNode, EventNode];
  const [c, d] = ['c', 'd'].map((id) => startKeyedNode(id, options)) as [KeyedNode, KeyedNode];
  const states = () => [a, b, c, d].map(({ node }) => node.status.state);
  const expected: Record<string, string[]> = { a: [], b: [] };
  for (const { what, act } of disasters) {
    await expect.poll(states, { timeout: 15_000 }).toEqual(['up', 'up', 'up', 'up']);
    let isOver = false;
    const publishing = (async () => {
      for (let nth = 0; !isOver || nth < perTier({ short: 200, long: 2_000 }); nth++) {
        for (const [id, node] of Object.entries({ a, b })) {
          node.publish(`${id} ${what} ${nth}`);
          expected[id]?.push(`${id} ${what} ${nth}`);
        }
        (nth % 2 === 0 ? c : d).keys.set(`k${nth % 5}`, `${what} ${nth}`);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    })();
    await act(server);
    isOver = true;
    await publishing;
  }
  for (const node of [a, b]) {
    const total = (expected['a']?.length ?? 0) + (expected['b']?.length ?? 0);
    await expect.poll(() => node.payloads().length, { timeout: 15_000 }).toBeGreaterThanOrEqual(total);
    for (const id of ['a', 'b'])
      expect(node.payloads().filter((payload) => payload.startsWith(id))).toEqual(expected[id]);
    expect(node.counts).not.toHaveProperty('gap');
  }
  const sorted = (keys: typeof c.keys) =>
    [...keys.values].toSorted(([one], [other]) => (one < other ? -1 : 1));
  await expect.poll(() => sorted(c.keys), { timeout: 15_000 }).toEqual(sorted(d.keys));
  expect(c.keys.values.size).toBe(5);
  expect(await backendsOf(server)).toHaveLength(4);
});

test('calls to a server that hangs are lost in time, and it is found again', async () => {
  const database = await clusterDatabase();
  const one = await readyPostgresStore({ url: gatewayDsn(database), timeoutMs: 200 });
  const { store } = one;
  expect(await store.append('ev:a', entriesOf(one, { count: 2 }))).toEqual([1, 2]);
  const [pid = 0] = await backendsOf(database);
  process.kill(pid, 'SIGSTOP');
  const late = new StoreLost('no reply within 200 ms');
  const reading = store.read(new Map([['ev:a', 2]]), 60_000);
  const calls = [3, 3].map((first) => store.append('ev:a', entriesOf(one, { first })));
  await Promise.all([...calls, reading].map((call) => expect(call).rejects.toThrow(StoreLost)));
  await expect.poll(() => one.told.slice(0, 2)).toEqual(['up', late.message]);
  // Another session is opened while the old one hangs.
  await one.ready();
  const first = await store.append('ev:a', entriesOf(one, { first: 3 }));
  process.kill(pid, 'SIGCONT');
  expect([[3], [0]]).toContainEqual(first);
  expect(await store.append('ev:a', entriesOf(one, { first: 4 }))).toEqual([4]);
  expect(countersOf(await readOn(one, 'ev:a'))).toEqual([1, 2, 3, 4]);
});

for (const direction of ['to the server', 'to the client'] as const) {
  test(`a connection on which bytes ${direction} vanish is given up`, async (t) => {
    const { port, database } = await ownDatabase();
    const proxy = await lossyProxy(t, port);
    const url = proxy.url.replace('redis://', `postgres://${GATEWAY_ROLE}@`);
    const one = await readyPostgresStore({ url: `${url}/${database}?connect_timeout=2`, timeoutMs: 200 });
    proxy.lose(direction);
    await expect(one.store.append('ev:a', entriesOf(one))).rejects.toThrow(StoreLost);
    await expect.poll(() => one.told.at(1)).toBe('no reply within 200 ms');
    proxy.lose(undefined);
    await one.ready();
    expect(countersOf(await readOn(one, 'ev:a'))).toHaveLength(direction === 'to the client' ? 1 : 0);
  });
}

test('events and keys pass a store to which a heartbeat takes longer than the time between two', async (t) => {
  const { port, database } = await ownDatabase();
  const proxy = await lossyProxy(t, port);
  const url = proxy.url.replace('redis://', `postgres://${GATEWAY_ROLE}@`);
  const options = { url: `${url}/${database}`, namespace: freshNamespace() };
  const [a, b] = ['a', 'b'].map((id) => startEventNode(id, options)) as [EventNode, EventNode];
  const [c, d] = ['c', 'd'].map((id) => startKeyedNode(id, options)) as [KeyedNode, KeyedNode];
  const states = () => [a, b, c, d].map(({ node }) => node.status.state);
  await expect.poll(states, { timeout: 10_000 }).toEqual(['up', 'up', 'up', 'up']);
  proxy.delay(40);
  // Longer than the timeout of a statement, so that statements which pile up are lost.
  await sleep(1_000);
  a.publish('far');
  c.keys.set('k', 'far');
  await expect
    .poll(() => [b.payloads(), d.keys.values.get('k')], { timeout: 10_000 })
    .toEqual([['far'], 'far']);
  expect(states()).toEqual(['up', 'up', 'up', 'up']);
  expect([a, b, c, d].flatMap(({ log }) => log)).toEqual([]);
});

test('a standby is not used, until it is promoted', async () => {
  const [{ dir } = { dir: '' }] = await server.query<{ dir: string }>(
    `select current_setting('data_directory') as dir`,
  );
  await server.stop();
  await writeFile(join(dir, 'standby.signal'), '');
  await server.start();
  const one = await openPostgresStore({ url: urlOf(server) });
  const says = 'the server is a standby, which takes no entries';
  await expect.poll(() => one.told).toEqual([says]);
  await server.query('select pg_promote()');
  await one.ready();
  expect(await one.store.append('ev:a', entriesOf(one))).toEqual([1]);
});
