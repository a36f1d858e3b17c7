import { expect, test, type TestContext } from 'vitest';
import { StoreLost } from '../../src/cluster/index.ts';
import { redis } from '../harness/redis.ts';
import { replication } from '../harness/sentinels.ts';
import { type Pretender, pretender, sentinelOf } from './pretender.ts';
import { countersOf, entriesOf, openStore, readOn, readyStore } from './stores.ts';

const switched = (name: string): string => {
  const text = `${name} 127.0.0.1 1 127.0.0.1 2`;
  return `*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$${text.length}\r\n${text}\r\n`;
};

const urlOf = (...sentinels: readonly Pick<Pretender, 'port'>[]): string =>
  `sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/main`;

test('a master that is killed is replaced by its replica', async (t) => {
  const { url, master } = await replication(t);
  const one = await readyStore({ url, timeoutMs: 500 });
  expect(await one.store.append('ev:a', entriesOf(one, { count: 3 }))).toEqual([1, 2, 3]);
  expect(await master.client.wait(1, 5_000)).toBe(1);
  const reading = one.store.read(new Map([['ev:a', 3]]), 60_000);
  await Promise.all([expect(reading).rejects.toThrow(StoreLost), master.stop('SIGKILL')]);
  await expect.poll(() => one.told.slice(1)).toContain('up');
  await one.ready();
  expect(countersOf(await readOn(one, 'ev:a'))).toEqual([1, 2, 3]);
  expect(await one.store.append('ev:a', entriesOf(one, { first: 4 }))).toEqual([4]);
});

const silences = {
  'is not there': () => Promise.resolve({ port: 1 }),
  'says nothing': (t) => pretender(t, { ping: undefined }),
  'says nothing when it is asked': (t) => pretender(t, { sentinel: undefined }),
  'wants another login': (t) => pretender(t, { ping: '-NOAUTH Authentication required.' }),
  'knows no such master': (t) => pretender(t, { sentinel: '*-1' }),
  'gives no address': (t) => pretender(t, { sentinel: '*2\r\n$9\r\n127.0.0.1\r\n$1\r\n0' }),
  'gives something else': (t) => pretender(t, { sentinel: '+OK' }),
} satisfies Record<string, (t: TestContext) => Promise<Pick<Pretender, 'port'>>>;

for (const [it, open] of Object.entries(silences)) {
  test(`if a Sentinel ${it}, the next one is asked`, async (t) => {
    const master = await redis();
    const one = await readyStore({
      url: urlOf(await open(t), await pretender(t, sentinelOf(master))),
      timeoutMs: 100,
    });
    expect(await one.store.append('ev:a', entriesOf(one))).toEqual([1]);
    expect(one.told).toEqual(['up']);
  });
}

test('while no Sentinel tells the master the store is down, and says why', async (t) => {
  const sentinel = await pretender(t, { sentinel: '*-1' });
  const one = await openStore({ url: urlOf({ port: 1 }, sentinel) });
  await expect(one.store.append('ev:a', entriesOf(one))).rejects.toThrow('no Sentinel has been asked yet');
  const reason = `no Sentinel tells the master: 127.0.0.1:${sentinel.port}: it knows no master "main"`;
  await expect.poll(() => one.told).toEqual([reason]);
  await expect(one.store.append('ev:a', entriesOf(one))).rejects.toThrow(new StoreLost(reason));
  sentinel.replies = sentinelOf(await redis());
  await one.ready();
});

test('a Sentinel that tells of a new master is believed, also while the old one answers', async (t) => {
  const [old, next] = [await redis('--databases', '2'), await redis('--databases', '3')];
  const sentinel = await pretender(t, sentinelOf(old));
  const one = await readyStore({ url: urlOf(sentinel) });
  await one.store.append('ev:a', entriesOf(one, { count: 2 }));
  const reading = one.store.read(new Map([['ev:a', 2]]), 60_000);
  sentinel.replies = sentinelOf(next);
  sentinel.tell(switched('another'));
  expect((await one.store.tail('ev:a', 1)).counter).toBe(2);
  sentinel.tell(switched('main'));
  await expect(reading).rejects.toThrow(StoreLost);
  await one.ready();
  expect(one.told).toEqual(['up', 'another server is the master now', 'up']);
  expect((await one.store.tail('ev:a', 1)).counter).toBe(0);
});

test('a server that is no master is not written to, even if it would take that', async (t) => {
  const [master, replica] = [
    await redis('--repl-diskless-sync-delay', '0'),
    await redis('--replica-read-only', 'no'),
  ];
  await replica.client.replicaof('127.0.0.1', master.port);
  await expect.poll(() => replica.client.info('replication')).toContain('master_link_status:up');
  const sentinel = await pretender(t, sentinelOf(replica));
  const one = await openStore({ url: urlOf(sentinel) });
  await expect.poll(() => one.told).toEqual(['it is a replica']);
  await expect(one.store.append('ev:a', entriesOf(one))).rejects.toThrow(StoreLost);
  sentinel.replies = sentinelOf(master);
  await one.ready();
});

test('the loss of a Sentinel does not disturb the store, and another one is heard then', async (t) => {
  const [old, next] = [await redis('--databases', '5'), await redis('--databases', '6')];
  const [first, second] = [await pretender(t, sentinelOf(old)), await pretender(t, sentinelOf(old))];
  const one = await readyStore({ url: urlOf(first, second) });
  first.replies = { ping: '-ERR no' };
  // Not a message: the connection is left.
  first.tell('?\r\n');
  await expect.poll(() => second.asked).toContain('subscribe');
  expect(one.told).toEqual(['up']);
  second.replies = sentinelOf(next);
  second.tell(switched('main'));
  await expect.poll(() => one.told).toHaveLength(3);
});

test('a Sentinel has a login of its own, and its user needs few rights', async (t) => {
  const { url, master, replica, sentinels } = await replication(t, { sentinels: 1 });
  const rights = ['+ping', '+sentinel|get-master-addr-by-name', '+subscribe', '&+switch-master'];
  await sentinels[0]?.client.call('acl', 'setuser', 'gw', 'reset', 'on', '>open', ...rights);
  for (const { client } of [master, replica])
    await client.acl('SETUSER', 'gw', 'on', '>sesame', '~*', '+@all');
  const address = url.replace('//', '//gw:sesame@');
  const refused = await openStore({ url: address, sentinelLogin: { username: 'gw', password: 'sesame' } });
  await expect.poll(() => refused.told).toEqual([expect.stringContaining('WRONGPASS') as string]);
  const one = await readyStore({ url: address, sentinelLogin: { username: 'gw', password: 'open' } });
  expect(await one.store.append('ev:a', entriesOf(one))).toEqual([1]);
  await sentinels[0]?.client.call('sentinel', 'failover', 'mymaster');
  await expect.poll(() => one.told.slice(1)).toContain('up');
  expect(one.told[1]).toMatch(/another server is the master now|closed|READONLY/);
});
