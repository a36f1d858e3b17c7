import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createZone, markDead, openRing } from '../../src/zone/index.ts';
import { perTier } from '../harness/tier.ts';
import { compileThreads, startThread } from './thread.ts';
import { receivedAt } from './threads/received.ts';

compileThreads('publisher', 'receiver', 'placer', 'reader', 'dying');

const event = { channel: 'c', type: 't' };
const ringOf = (capacity: number) => {
  const buffer = createZone({ name: 'bus', kind: 'ring', capacity });
  return { buffer, ring: openRing(buffer, 1) };
};

const deaths = [
  { where: 'in mid-entry of the first event', diesAt: 1, kept: [3, 4, 5], position: 100 },
  { where: 'between the first event and the header', diesAt: 2, kept: [3, 4, 5, 6], position: 101 },
  { where: 'in mid-entry of the second event', diesAt: 4, kept: [4, 5, 6], position: 101 },
  { where: 'between the second event and the header', diesAt: 5, kept: [4, 5, 6, 7], position: 102 },
  { where: 'in the header of the second event', diesAt: 6, kept: [4, 5, 6, 7], position: 102, left: 101 },
  { where: 'in mid-entry of an own event', diesAt: 1, counters: null, kept: [3, 4, 5], position: 100 },
  { where: 'in the header of an own event', diesAt: 3, counters: null, kept: [3, 4, 5, 6], position: 100 },
];
for (const { where, diesAt, counters = [101, 102, 103], kept, position, left } of deaths) {
  test(`a thread that dies ${where} leaves each received event to be in the ring once`, async () => {
    const { buffer, ring } = ringOf(4);
    ring.movePosition(100);
    const { worker } = startThread('dying', { buffer, threadId: 3, healthy: 5, diesAt, counters });
    expect(await once(worker, 'exit')).toEqual([7]);
    // The header may have been written up to any field.
    if (left !== undefined) new Float64Array(buffer, 80, 1)[0] = left;
    markDead(buffer, 3);
    expect(ring.snapshot()?.entries.map(({ generation }) => generation)).toEqual(kept);
    expect(ring.position).toBe(position);

    // What follows a half-written event takes its slot, and nothing of its fields.
    const newest = kept.at(-1) as number;
    ring.publish(event);
    expect(ring.read(newest + 1)).toMatchObject({ position, counter: 0, sequence: newest + 1, origin: 0 });
    ring.receive([101, 102, 103].filter((counter) => counter > ring.position).map(receivedAt));
    const { entries = [] } = ring.snapshot() ?? {};
    const received = entries.flatMap(({ origin, counter }) => (origin === 0 ? [] : [counter]));
    expect(received).toEqual([101, 102, 103].slice(-received.length));
    expect(ring.position).toBe(103);
  });
}

test('a thread that dies between two events leaves a position that has moved since the last one', () => {
  const { buffer, ring } = ringOf(4);
  ring.receive([receivedAt(7)]);
  ring.movePosition(9);
  // Thread 3, which was never alive, holds the lock.
  new Int32Array(buffer)[4] = 4;
  ring.publish(event);
  expect(ring.read(2)?.position).toBe(9);
  expect(new Int32Array(buffer)[5]).toBe(1);
});

const PUBLISHERS = 3;
const EACH = perTier({ short: 2_000, long: 25_000 });
const TOTAL = (PUBLISHERS + 1) * EACH;

for (const capacity of [8, TOTAL]) {
  test(`while ${PUBLISHERS} threads publish and one receives, ${capacity} slots have each generation once with its own fields`, async () => {
    const { buffer, ring } = ringOf(capacity);
    const gate = new SharedArrayBuffer(4);
    const shared = { buffer, gate, count: EACH };
    const writers = Array.from({ length: PUBLISHERS }, (_, n) =>
      startThread('publisher', { ...shared, threadId: n + 1 }),
    );
    writers.push(startThread('receiver', { ...shared, threadId: 10, lot: 10 }));
    const readers = (['read', 'snapshot'] as const).map((how, n) =>
      startThread('reader', { buffer, threadId: 20 + n, last: TOTAL, how }),
    );
    const all = [...writers, ...readers];
    await Promise.all(all.map((thread) => thread.next()));
    const results = Promise.all(all.map((thread) => thread.next()));
    Atomics.store(new Int32Array(gate), 0, 1);
    Atomics.notify(new Int32Array(gate), 0);

    const posted = await results;
    const lists = (posted.slice(0, PUBLISHERS + 1) as { generations: number[] }[]).map((p) => [
      ...p.generations,
    ]);
    const generations = lists.flat().sort((a, b) => a - b);
    expect(generations).toEqual(Array.from({ length: TOTAL }, (_, i) => i + 1));
    for (const read of posted.slice(PUBLISHERS + 1) as { seen: number; lapped: number; faults: string[] }[]) {
      expect(read.faults).toEqual([]);
      expect(read.seen + read.lapped).toBe(TOTAL);
    }
    expect(ring.position).toBe(EACH);
    const { entries = [] } = ring.snapshot() ?? {};
    expect(entries).toHaveLength(capacity);
    const received = new Map(lists.at(-1)?.map((generation, n) => [generation, n + 1]));
    let position = entries[0]?.position;
    for (const entry of entries) {
      const counter = received.get(entry.generation) ?? 0;
      expect(entry.counter).toBe(counter);
      position = counter || position;
      expect(entry.position).toBe(position);
    }
  });
}

test('while an event gets another place, readers see the one or the other', async () => {
  const { buffer, ring } = ringOf(1);
  ring.publish(event);
  // They differ in both words.
  const counters = [1, 2 ** 53 - 1];
  ring.confirm([{ generation: 1, counter: 1 }]);
  const end = new SharedArrayBuffer(4);
  const { worker, next } = startThread('placer', { buffer, threadId: 3, counters, end });
  await next();
  const seen = new Set<number | undefined>();
  const reads = perTier({ short: 100_000, long: 1_000_000 });
  for (let n = 0; n < reads || seen.size < 2; n++) seen.add(ring.read(1)?.counter);
  Atomics.store(new Int32Array(end), 0, 1);
  expect(await once(worker, 'exit')).toEqual([0]);
  expect(seen).toEqual(new Set(counters));
});
