import { expect, test } from 'vitest';
import { isGenuine, type StoredEntry, StoreLost } from '../../src/cluster/index.ts';
import { perTier } from '../harness/tier.ts';
import { countersOf, entriesOf, readOn, STORES } from './stores.ts';

const upTo = (last: number): number[] => Array.from({ length: last }, (_, nth) => nth + 1);

for (const [kind, ready] of Object.entries(STORES)) {
  test(`${kind}: append gives counters without holes, and adds nothing twice`, async () => {
    const one = await ready();
    const { store } = one;
    expect(await store.append('ev:a', entriesOf(one, { count: 3 }))).toEqual([1, 2, 3]);
    expect(await store.append('ev:a', entriesOf(one, { count: 3 }))).toEqual([0, 0, 0]);
    expect(await store.append('ev:a', entriesOf(one, { first: 3, count: 2 }))).toEqual([0, 4]);
    expect(await store.append('ev:a', [])).toEqual([]);
    // Another incarnation begins anew, and so does another origin and another stream.
    expect(await store.append('ev:a', entriesOf(one, { incarnation: 'i2', count: 2 }))).toEqual([5, 6]);
    expect(await store.append('ev:a', entriesOf(one, { origin: 'gw-b' }))).toEqual([7]);
    expect(await store.append('ev:b', entriesOf(one, { stream: 'ev:b' }))).toEqual([1]);
    expect(countersOf(await readOn(one, 'ev:a'))).toEqual(upTo(7));
  });

  test(`${kind}: entries come back as they were sealed, whatever their texts are`, async () => {
    const one = await ready();
    const texts = ['', '\r\n$3\r\n', '\0', 'ü\u{1f600}', '\ud800', 'mac', 'x'.repeat(100_000)];
    const sent = texts.flatMap((payload, nth) => entriesOf(one, { first: nth + 1, payload }));
    await one.store.append('ev:a', sent);
    const found = await readOn(one, 'ev:a');
    const read = (text: string): string => text.replace('\ud800', '\ufffd');
    expect(found).toEqual(
      sent.map((entry, nth) => ({ ...entry, counter: nth + 1, fields: entry.fields.map(read) })),
    );
    for (const entry of found) expect(isGenuine(one.seal, 'ev:a', entry)).toBe(true);
    expect(isGenuine(one.seal, 'ev:b', found[0]!)).toBe(false);
  });

  test(`${kind}: tail and look tell what a stream has`, async () => {
    const one = await ready();
    const { store } = one;
    const asked = { counter: 4, origin: 'gw-a', incarnation: 'i1' };
    expect(await store.tail('ev:a', 10)).toEqual({ entries: [], counter: 0 });
    expect(await store.look('ev:a', asked)).toMatchObject({
      counter: 0,
      oldest: 1,
      mac: undefined,
      lastSequence: 0,
    });
    const sent = entriesOf(one, { count: 600 });
    await store.append('ev:a', sent);
    for (const [count, first] of [
      [0, 601],
      [3, 598],
      [251, 350],
      [1_000, 1],
    ] as const) {
      const { entries, counter } = await store.tail('ev:a', count);
      expect(counter).toBe(600);
      expect(countersOf(entries)).toEqual(upTo(600).slice(first - 1));
    }
    const mac = sent[3]?.mac;
    expect(await store.look('ev:a', asked)).toMatchObject({
      counter: 600,
      oldest: 1,
      mac,
      lastSequence: 600,
    });
    const other = { counter: 601, origin: 'gw-a', incarnation: 'i2' };
    expect(await store.look('ev:a', other)).toMatchObject({
      counter: 600,
      oldest: 1,
      mac: undefined,
      lastSequence: 0,
    });
  });

  test(`${kind}: read waits for entries of several streams, and gives up`, async () => {
    const one = await ready();
    const { store } = one;
    await store.append('ev:a', entriesOf(one, { count: 2 }));
    expect(await store.read(new Map([['ev:a', 2]]), 10)).toEqual(new Map());
    const waiting = store.read(
      new Map([
        ['ev:a', 2],
        ['ev:b', 0],
      ]),
      10_000,
    );
    await store.append('ev:b', entriesOf(one, { stream: 'ev:b' }));
    expect([...(await waiting)].map(([stream, entries]) => [stream, countersOf(entries)])).toEqual([
      ['ev:b', [1]],
    ]);
  });

  test(`${kind}: a read has a thousand entries at most, of all streams`, async () => {
    const one = await ready({ retain: 10_000 });
    for (const stream of ['ev:a', 'ev:b'])
      await one.store.append(stream, entriesOf(one, { stream, count: 1_200 }));
    const found = await one.store.read(
      new Map([
        ['ev:a', 0],
        ['ev:b', 0],
      ]),
      0,
    );
    // Streams on several servers are given as they come.
    expect(new Set([...found.values()].map(({ length }) => length))).toEqual(new Set([500]));
    expect(countersOf(await readOn(one, 'ev:a'))).toEqual(upTo(1_200));
  });

  test(`${kind}: a stream that was lost has another birth, even if it has as many entries again`, async () => {
    const one = await ready();
    const birth = async (): Promise<number> => {
      const asked = { counter: 0, origin: 'gw-a', incarnation: 'i1' };
      const { birth: told, nowMs } = await one.store.look('ev:a', asked);
      expect(told).toBeLessThanOrEqual(nowMs);
      return told;
    };
    const first = await birth();
    expect(first).toBeGreaterThan(0);
    await one.store.append('ev:a', entriesOf(one));
    expect(await birth()).toBe(first);
    await one.lose('ev:a');
    await one.store.append('ev:a', entriesOf(one));
    expect(await birth()).toBeGreaterThan(first);
  });

  test(`${kind}: old entries are trimmed`, async () => {
    const one = await ready({ retain: 100 });
    await one.store.append('ev:a', entriesOf(one, { count: 1_000 }));
    const asked = { counter: 1, origin: 'gw-a', incarnation: 'i1' };
    const { counter, oldest, mac, lastSequence } = await one.store.look('ev:a', asked);
    expect({ counter, mac, lastSequence }).toEqual({ counter: 1_000, mac: undefined, lastSequence: 1_000 });
    expect(oldest).toBeGreaterThan(700);
    expect(oldest).toBeLessThanOrEqual(901);
    expect(countersOf(await readOn(one, 'ev:a', 5))).toEqual(upTo(1_000).slice(oldest - 1));
  });

  test(`${kind}: what several append at once is in one order, which nobody sees holes in`, async () => {
    const one = await ready();
    const { namespace } = one.seal;
    const publishers = await Promise.all(['gw-a', 'gw-b', 'gw-c', 'gw-d'].map(() => ready({ namespace })));
    const rounds = perTier({ short: 20, long: 300 });
    const given: number[] = [];
    const publishing = Promise.all(
      publishers.map(async ({ store }, nth) => {
        for (let round = 0; round < rounds; round++) {
          const sent = entriesOf(one, { origin: `gw-${nth}`, first: 1 + 3 * round, count: 3 });
          given.push(...(await store.append('ev:a', sent)));
        }
      }),
    );
    const all: StoredEntry[] = [];
    const total = 3 * rounds * publishers.length;
    while (all.length < total)
      all.push(...((await one.store.read(new Map([['ev:a', all.length]]), 5_000)).get('ev:a') ?? []));
    await publishing;
    expect(countersOf(all)).toEqual(upTo(total));
    expect(given.toSorted((a, b) => a - b)).toEqual(upTo(total));
    for (const nth of publishers.keys()) {
      const sequences = all.filter(({ origin }) => origin === `gw-${nth}`).map(({ sequence }) => sequence);
      expect(sequences).toEqual(upTo(3 * rounds));
    }
  });

  test(`${kind}: calls that wait are rejected when the store is closed`, async () => {
    const one = await ready();
    const calls = [one.store.read(new Map([['ev:a', 0]]), 60_000), one.store.append('ev:a', entriesOf(one))];
    one.store.close();
    for (const call of calls) await expect(call).rejects.toThrow(StoreLost);
    await expect(one.store.tail('ev:a', 1)).rejects.toThrow(new StoreLost('closed'));
    expect(one.told).toEqual(['up']);
  });
}
