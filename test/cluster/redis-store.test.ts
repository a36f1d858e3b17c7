import { expect, test, vi } from 'vitest';
import { isGenuine, type SealedEntry, type StoredEntry } from '../../src/cluster/index.ts';
import { redis } from '../harness/redis.ts';
import { perTier } from '../harness/tier.ts';
import { countersOf, entriesOf, readOn, readyStore } from './stores.ts';

const upTo = (last: number): number[] => Array.from({ length: last }, (_, nth) => nth + 1);

test('the counter goes on behind the stream when its hash is lost, and behind the hash when the stream is', async () => {
  const one = await readyStore();
  const { client } = await redis();
  const { store } = one;
  await store.append('ev:a', entriesOf(one, { count: 5 }));
  await client.del(`${one.key('ev:a')}:n`);
  expect((await store.look('ev:a', { counter: 5, origin: 'gw-a', incarnation: 'i1' })).counter).toBe(5);
  expect(await store.append('ev:a', entriesOf(one, { first: 6, count: 2 }))).toEqual([6, 7]);
  expect(await store.append('ev:a', entriesOf(one, { first: 7 }))).toEqual([0]);
  await client.xtrim(one.key('ev:a'), 'MAXLEN', '0');
  await client.del(`${one.key('ev:a')}:n`);
  expect(await store.tail('ev:a', 5)).toEqual({ entries: [], counter: 7 });
  expect(await store.append('ev:a', entriesOf(one, { first: 8 }))).toEqual([8]);
  await client.del(one.key('ev:a'));
  expect(await store.tail('ev:a', 5)).toEqual({ entries: [], counter: 8 });
  expect(await store.append('ev:a', entriesOf(one, { first: 9 }))).toEqual([9]);
});

/** The texts of an entry as a node writes it, with other ones. */
const texts = (mac: string, { version = '1', sequence = '9' } = {}): string[] =>
  `v ${version} origin gw-a incarnation i1 sequence ${sequence} mac ${mac} payload x`.split(' ');

test('what somebody else has added is read as entries that are not genuine', async () => {
  const one = await readyStore();
  const { client } = await redis();
  const { store } = one;
  const key = one.key('ev:a');
  const [{ mac }] = entriesOf(one, { first: 9 }) as [SealedEntry];
  await store.append('ev:a', entriesOf(one, { count: 4 }));
  await client.xadd(key, '5-1', 'a', 'b');
  await client.xadd(key, '5-2', ...texts(mac));
  expect(await store.append('ev:a', entriesOf(one, { first: 5, count: 2 }))).toEqual([6, 7]);
  await client.xadd(key, '*', ...texts(mac, { version: '2' }));
  for (const sequence of ['0', '1e3', '09', '-9', '99999999999999999'])
    await client.xadd(key, '*', ...texts(mac, { sequence }));
  await client.xadd(key, '*', ...texts(mac).slice(2));
  await client.xadd(key, '*', 'mac', mac, 'v', Buffer.from([0xff, 0xfe]));
  const [next] = await store.append('ev:a', entriesOf(one, { first: 7 }));

  const found = await readOn(one, 'ev:a');
  expect(countersOf(found).slice(0, 8)).toEqual([1, 2, 3, 4, 5, 5, 6, 7]);
  expect(found.at(-1)?.counter).toBe(next);
  const [genuine, others] = [true, false].map((is) =>
    found.filter((entry) => isGenuine(one.seal, 'ev:a', entry) === is),
  ) as [StoredEntry[], StoredEntry[]];
  expect(genuine.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  for (const entry of others)
    expect(entry).toMatchObject({ origin: '', incarnation: '', sequence: 0, mac: '' });
  expect(others[0]?.fields).toEqual(['a', 'b']);
  expect((await store.look('ev:a', { counter: 5, origin: '', incarnation: '' })).mac).toBe('');
  // What follows with the same counter does not come any more.
  expect(countersOf(await readOn(one, 'ev:a', 5))[0]).toBe(6);
});

test('an id that no counter follows is read once, and stops nobody', async () => {
  const one = await readyStore();
  const { client } = await redis();
  await one.store.append('ev:a', entriesOf(one));
  await client.xadd(one.key('ev:a'), '18446744073709551615-3', 'a', 'b');
  expect(countersOf(await readOn(one, 'ev:a'))).toEqual([1, Number.MAX_SAFE_INTEGER]);
  expect(await one.store.append('ev:a', entriesOf(one, { first: 2 }))).toEqual([2]);
  expect((await one.store.tail('ev:a', 5)).counter).toBe(2);
});

test('entries too large to be read together are read nevertheless', async () => {
  const one = await readyStore();
  const { client } = await redis();
  const { store } = one;
  const key = one.key('ev:a');
  await store.append('ev:a', entriesOf(one));
  for (let nth = 0; nth < 20; nth++) await client.xadd(key, '*', 'junk', 'x'.repeat(900_000));
  await client.xadd(key, '*', 'junk', 'x'.repeat(1_100_000));
  await store.append('ev:a', entriesOf(one, { first: 2 }));
  const behind = new Map([['ev:a', 0]]);
  await expect(store.read(behind, 0)).rejects.toThrow('a reply exceeds 16777216 bytes');
  await one.ready();
  const found = await readOn(one, 'ev:a');
  expect(found.map(({ fields: [name] }) => name)).toEqual([
    'payload',
    ...Array<string>(20).fill('junk'),
    undefined,
    'payload',
  ]);
  await expect(store.tail('ev:a', 50)).rejects.toThrow('a reply exceeds 16777216 bytes');
  await one.ready();
  expect((await store.tail('ev:a', 50)).entries).toEqual(found);
});

test('stores that append at once share one counter', async () => {
  const one = await readyStore();
  const other = await readyStore({ namespace: one.seal.namespace });
  const { client } = await redis();
  const counters: number[] = [];
  const rounds = perTier({ short: 40, long: 400 });
  const publish = async (from: typeof one, origin: string): Promise<void> => {
    for (let nth = 0; nth < rounds; nth++) {
      counters.push(
        ...(await from.store.append('ev:a', entriesOf(one, { origin, first: 1 + 5 * nth, count: 5 }))),
      );
      // A restart of the store forgets the scripts.
      if (nth % 10 === 0) await client.script('FLUSH');
    }
  };
  await Promise.all([publish(one, 'gw-a'), publish(other, 'gw-b')]);
  expect(counters.toSorted((a, b) => a - b)).toEqual(upTo(10 * rounds));
  for (const origin of ['gw-a', 'gw-b']) {
    const sequences = (await readOn(one, 'ev:a'))
      .filter((entry) => entry.origin === origin)
      .map((entry) => entry.sequence);
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
  }
});

test('origins that have come and gone do not fill the store', async () => {
  const one = await readyStore({ retain: 100 });
  const { client } = await redis();
  for (let nth = 0; nth < 3_000; nth += 100) {
    const appends = Array.from({ length: 100 }, (_, at) =>
      one.store.append('ev:a', entriesOf(one, { origin: `gw-${nth + at}` })),
    );
    await Promise.all(appends);
  }
  expect(await client.hlen(`${one.key('ev:a')}:n`)).toBeLessThanOrEqual(1_003);
  expect(await one.store.append('ev:a', entriesOf(one, { origin: 'gw-2999' }))).toEqual([0]);
});

test('of two nodes of one name, and of each start of a node, the last entry is known', async () => {
  const one = await readyStore();
  const { store } = one;
  const lastOf = async (incarnation: string): Promise<number> =>
    (await store.look('ev:a', { counter: 0, origin: 'gw-a', incarnation })).lastSequence;
  expect(await store.append('ev:a', entriesOf(one, { incarnation: 'i1', count: 3 }))).toEqual([1, 2, 3]);
  expect(await store.append('ev:a', entriesOf(one, { incarnation: 'i2', count: 2 }))).toEqual([4, 5]);
  expect([await lastOf('i1'), await lastOf('i2'), await lastOf('i3')]).toEqual([3, 2, 0]);
  expect(await store.append('ev:a', entriesOf(one, { incarnation: 'i1', count: 4 }))).toEqual([0, 0, 0, 6]);
});

test('the policy of the store is told', async () => {
  const one = await readyStore();
  expect(await one.store.policy()).toBe('noeviction');
  await vi.waitFor(() => expect(one.told).toEqual(['up']));
});
