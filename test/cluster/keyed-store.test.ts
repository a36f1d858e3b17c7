import { expect, test } from 'vitest';
import { isGenuine } from '../../src/cluster/index.ts';
import { redis } from '../harness/redis.ts';
import { keyEntryOf } from './keys.ts';
import { readOn, readyStore, STORES, type TestStore } from './stores.ts';

const write = (one: TestStore, ...entries: Parameters<typeof keyEntryOf>[1][]) =>
  one.store.write(
    'di:a',
    entries.map((entry) => keyEntryOf(one, entry)),
  );

async function keysOf({ store }: TestStore): Promise<Record<string, string | undefined>> {
  const all: (readonly [string, string | undefined])[] = [];
  for (let from: string | undefined = '0'; from !== undefined;) {
    const { entries, next } = await store.keys('di:a', from);
    all.push(...entries.map(({ fields }) => [fields[1] ?? '', fields[7]] as const));
    from = next;
  }
  return Object.fromEntries(all);
}

const cases = [
  { it: 'is taken on a key that nobody has', before: [], write: { seen: 0 }, gives: 1 },
  {
    it: 'is taken if it has seen the last one',
    before: [{ origin: 'gw-b', value: 'b' }],
    write: { seen: 1 },
    gives: 2,
  },
  { it: 'is overtaken by one that it has not seen', before: [{ origin: 'gw-b', value: 'b' }], gives: 0 },
  {
    it: 'is overtaken by a deletion that it has not seen',
    before: [
      { origin: 'gw-b', value: 'b' },
      { origin: 'gw-b', seen: 1 },
    ],
    write: { seen: 1 },
    gives: 0,
  },
  { it: 'follows an earlier one of its node that it has not seen', before: [{ value: 'a' }], gives: 2 },
  {
    it: 'is overtaken by a later one of its node',
    before: [{ value: 'a', sequence: 9 }],
    write: { sequence: 8 },
    gives: 0,
  },
  {
    it: 'is not overtaken by one whose time is over',
    before: [{ origin: 'gw-b', value: 'b', ttlMs: 1 }],
    write: {},
    gives: 2,
    waits: true,
  },
  {
    it: 'counts as one that it has not seen with the same value',
    before: [{ origin: 'gw-b', value: 'x' }],
    write: {},
    gives: 1,
  },
  {
    it: 'is overtaken by one with the same value that goes by itself',
    before: [{ origin: 'gw-b', value: 'x', ttlMs: 60_000 }],
    write: {},
    gives: 0,
  },
  {
    it: 'is not overtaken by another key',
    before: [{ origin: 'gw-b', key: 'l', value: 'b' }],
    write: {},
    gives: 2,
  },
];
for (const [kind, ready] of Object.entries(STORES)) {
  for (const { it, before, gives, ...rest } of cases) {
    test(`${kind}: a write ${it}`, async () => {
      const one = await ready();
      for (const former of before) await write(one, former);
      if ('waits' in rest) await expect.poll(() => keysOf(one)).toEqual({});
      expect(await write(one, { value: 'x', ...rest.write })).toEqual([gives]);
      const entries = await readOn(one, 'di:a');
      expect(entries).toHaveLength(before.length + (gives > before.length ? 1 : 0));
      if (gives > 0) expect(await keysOf(one)).toMatchObject({ k: 'x' });
    });
  }

  test(`${kind}: a write that is repeated gives the counter that it had, and is in the stream once`, async () => {
    const one = await ready();
    const entry = { value: 'x', sequence: 5 };
    expect(await write(one, entry)).toEqual([1]);
    await write(one, { key: 'l', value: 'y' });
    expect(await write(one, entry)).toEqual([1]);
    expect(await readOn(one, 'di:a')).toHaveLength(2);
  });

  test(`${kind}: keys come with their newest entries, genuine ones, and deleted ones without a value`, async () => {
    const one = await ready();
    const many = Array.from({ length: 1_000 }, (_, nth) => ({ key: `k${nth}`, value: `é ${nth}` }));
    expect(await write(one, ...many.slice(0, 500))).toEqual(many.slice(0, 500).map((_, nth) => nth + 1));
    await write(one, ...many.slice(500));
    await write(one, { key: 'k7' }, { key: 'k8', value: 'new' });
    const expected = Object.fromEntries(many.map(({ key, value }) => [key, value]));
    expect(await keysOf(one)).toEqual({ ...expected, k7: undefined, k8: 'new' });
    const { entries } = await one.store.keys('di:a');
    const { nowMs } = await one.store.look('di:a', { counter: 0, origin: '', incarnation: '' });
    for (const entry of entries) {
      expect(isGenuine(one.seal, 'di:a', entry)).toBe(true);
      expect(nowMs - (entry.storedMs ?? 0)).toBeLessThan(60_000);
      expect(nowMs).toBeGreaterThanOrEqual(entry.storedMs ?? Infinity);
    }
    expect(entries.length).toBeLessThan(300);
  });

  test(`${kind}: a lease is held by one owner, until it is not renewed`, async () => {
    const { store } = await ready();
    expect(await store.lease('up:a', 'gw-a', 60_000)).toBe(true);
    expect(await store.lease('up:a', 'gw-b', 60_000)).toBe(false);
    expect(await store.lease('up:b', 'gw-b', 60_000)).toBe(true);
    expect(await store.lease('up:a', 'gw-a', 1)).toBe(true);
    await expect.poll(() => store.lease('up:a', 'gw-b', 60_000)).toBe(true);
  });

  test(`${kind}: a lease that is given back is nobody's, unless another one has it`, async () => {
    const { store } = await ready();
    expect(await store.lease('up:a', 'gw-a', 60_000)).toBe(true);
    await store.release('up:a', 'gw-b');
    expect(await store.lease('up:a', 'gw-b', 60_000)).toBe(false);
    await store.release('up:a', 'gw-a');
    expect(await store.lease('up:a', 'gw-b', 60_000)).toBe(true);
  });
}

test('what somebody else has put among the keys is none of them, and is written over', async () => {
  const one = await readyStore();
  await write(one, { key: 'good', value: 'x' });
  const { client } = await redis();
  await client.hset(`${one.key('di:a')}:k`, { k: 'rubbish', l: '', m: 'y'.repeat(1_000_000) });
  const { entries } = await one.store.keys('di:a');
  expect(
    entries.filter((entry) => isGenuine(one.seal, 'di:a', entry)).map(({ fields }) => fields[1]),
  ).toEqual(['good']);
  expect(await write(one, { key: 'k', value: 'mine' })).toEqual([2]);
  expect(await keysOf(one)).toMatchObject({ k: 'mine' });
});

test('what has expired and what was deleted long ago leaves the store', async () => {
  const one = await readyStore();
  await write(one, { key: 'short', value: 'x', ttlMs: 1 }, { key: 'gone' }, { key: 'stays', value: 'x' });
  const { client } = await redis();
  const key = one.key('di:a');
  await client.zincrby(`${key}:x`, -600_000, 'gone');
  await expect.poll(() => keysOf(one)).toEqual({ stays: 'x' });
  await write(one, { key: 'other', value: 'y' });
  expect((await client.hkeys(`${key}:k`)).sort()).toEqual(['other', 'stays']);
  expect(await client.zcard(`${key}:x`)).toBe(0);
});
