import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createZone, markDead, openRing } from '../../src/zone/index.ts';
import { clearAlive } from '../../src/zone/lock.ts';
import { compileThreads, startThread } from './thread.ts';
import { perTier } from '../harness/tier.ts';

compileThreads('publisher', 'reader', 'dying');

const TOTAL = perTier({ short: 8_000, long: 100_000 });
const storms = [
  { threads: 1, capacity: 64 },
  { threads: 2, capacity: 1024 },
  { threads: 4, capacity: 1024 },
  { threads: 4, capacity: 1 },
  { threads: 4, capacity: 8 },
];

for (const { threads, capacity } of storms) {
  test(`${threads} threads publish ${TOTAL} events into ${capacity} slots without gap, repetition or torn entry`, async () => {
    const buffer = createZone({ name: 'bus', kind: 'ring', capacity });
    const gate = new SharedArrayBuffer(4);
    const count = TOTAL / threads;
    const publishers = Array.from({ length: threads }, (_, n) =>
      startThread('publisher', { buffer, gate, threadId: n + 1, count }),
    );
    const readers = (['read', 'snapshot'] as const).map((how, n) =>
      startThread('reader', { buffer, threadId: 20 + n, last: TOTAL, how }),
    );
    const all = [...publishers, ...readers];
    await Promise.all(all.map((thread) => thread.next()));
    const results = Promise.all(all.map((thread) => thread.next()));
    Atomics.store(new Int32Array(gate), 0, 1);
    Atomics.notify(new Int32Array(gate), 0);

    const posted = await results;
    const published = posted.slice(0, threads) as { generations: Float64Array; evicted: number }[];
    const generations = Float64Array.from(published.flatMap((p) => [...p.generations])).sort();
    expect(generations.length).toBe(TOTAL);
    expect(generations.findIndex((generation, index) => generation !== index + 1)).toBe(-1);
    for (const p of published)
      expect([...p.generations]).toEqual([...p.generations].toSorted((a, b) => a - b));
    expect(published.reduce((sum, p) => sum + p.evicted, 0)).toBe(TOTAL - capacity);
    for (const read of posted.slice(threads) as { seen: number; lapped: number; faults: string[] }[]) {
      expect(read.faults).toEqual([]);
      expect(read.seen + read.lapped).toBe(TOTAL);
    }
    const end = openRing(buffer, 0).snapshot();
    expect(end).toMatchObject({ newestGeneration: TOTAL, droppedEvents: TOTAL - capacity });
    expect(end?.entries.map((e) => e.generation)).toEqual(
      Array.from({ length: capacity }, (_, i) => TOTAL - capacity + 1 + i),
    );
  });
}

describe('a publisher that dies under the lock', () => {
  const deaths = [
    { where: 'in mid-entry', diesAt: 1, survivors: [3, 4, 5] },
    { where: 'between entry and header', diesAt: 2, survivors: [3, 4, 5, 6] },
    { where: 'in mid-header', diesAt: 3, survivors: [3, 4, 5, 6] },
  ];
  const rescues = [
    { who: 'the master', rescue: (buffer: SharedArrayBuffer) => markDead(buffer, 3) },
    {
      who: 'a waiting publisher',
      rescue: (buffer: SharedArrayBuffer) => clearAlive(new Int32Array(buffer), 3),
    },
  ];
  for (const { where, diesAt, survivors } of deaths) {
    for (const { who, rescue } of rescues) {
      test(`${where} is cleaned up by ${who}`, async () => {
        const buffer = createZone({ name: 'bus', kind: 'ring', capacity: 4 });
        const { worker } = startThread('dying', { buffer, threadId: 3, healthy: 5, diesAt });
        expect(await once(worker, 'exit')).toEqual([7]);
        // Slot 1 was being written: the copy may have stopped at any byte.
        if (diesAt === 1) Buffer.from(buffer, 192 + 704, 704).fill(0xff, 4, 300);
        rescue(buffer);

        const ring = openRing(buffer, 1);
        const generation = (survivors.at(-1) as number) + 1;
        const evicted = survivors.length === 4;
        expect(ring.publish({ channel: 'c', type: 't', payload: 'after' })).toEqual({ generation, evicted });
        const snapshot = ring.snapshot();
        const expected = [...survivors, generation].slice(-4);
        expect(snapshot?.entries.map((entry) => entry.generation)).toEqual(expected);
        expect(snapshot).toMatchObject({ newestGeneration: generation, droppedEvents: generation - 4 });
        expect(new Int32Array(buffer)[5]).toBe(1);
      });
    }
  }
});

describe('the lock', () => {
  test('of a dead publisher, the only slot half-written, leads to no repeated generation', async () => {
    const buffer = createZone({ name: 'bus', kind: 'ring', capacity: 1 });
    const { worker } = startThread('dying', { buffer, threadId: 500, healthy: 5, diesAt: 1 });
    await once(worker, 'exit');
    markDead(buffer, 500);
    const ring = openRing(buffer, 1);
    expect(ring.snapshot()).toMatchObject({ newestGeneration: 5, droppedEvents: 5, entries: [] });
    expect(ring.publish({ channel: 'c', type: 't' })).toEqual({ generation: 6, evicted: false });
  });

  test('of a live publisher makes no thread wait for ever', () => {
    const buffer = createZone({ name: 'bus', kind: 'ring', capacity: 4 });
    const ring = openRing(buffer, 1);
    ring.publish({ channel: 'c', type: 't' });
    openRing(buffer, 2);
    const words = new Int32Array(buffer);
    words[4] = 3;
    expect(ring.publish({ channel: 'c', type: 't' })).toBeUndefined();
    expect(ring.snapshot()).toBeUndefined();
    expect(ring.read(1)).toMatchObject({ generation: 1 });
    words[4] = 0;
    expect(ring.publish({ channel: 'c', type: 't' })).toEqual({ generation: 2, evicted: false });
  });
});
