import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createZone, markDead, openDictionary } from '../../../src/zone/index.ts';
import { PRIORITY_WORD } from '../../../src/zone/header.ts';
import { clearAlive } from '../../../src/zone/lock.ts';
import { compileThreads, startThread } from '../thread.ts';
import { perTier } from '../../harness/tier.ts';

compileThreads('counter', 'dying-writer');

const THREADS = 4;
const TOTAL = perTier({ short: 60_000, long: 1_000_000 });
const storms = [
  { it: 'on one counter', counters: 1, texts: 16, evict: false },
  { it: 'on 100 counters', counters: 100, texts: 16, evict: false },
  // 1000 different texts never fit, and a counter is always used before it becomes the oldest entry.
  { it: 'in a dictionary that evicts', counters: 50, texts: 8000, evict: true },
];

for (const { it, evict, ...work } of storms) {
  test(`${THREADS} threads add 1 ${TOTAL} times ${it}: no increment is lost, and no text is torn`, async () => {
    const buffer = createZone({ name: 'd', kind: 'dictionary', sizeBytes: 65_536 });
    const gate = new SharedArrayBuffer(4);
    const threads = Array.from({ length: THREADS }, (_, n) =>
      startThread('counter', { buffer, gate, threadId: n + 1, count: TOTAL / THREADS, evict, ...work }),
    );
    await Promise.all(threads.map((thread) => thread.next()));
    const results = Promise.all(threads.map((thread) => thread.next()));
    Atomics.store(new Int32Array(gate), 0, 1);
    Atomics.notify(new Int32Array(gate), 0);
    for (const { faults } of (await results) as { faults: string[] }[]) expect(faults).toEqual([]);

    const { counters } = work;
    const dictionary = openDictionary(buffer, 0);
    const values = Array.from({ length: counters }, (_, n) => dictionary.get(`counter ${n}`));
    expect(values).toEqual(Array<number>(counters).fill(TOTAL / counters));
    const before = dictionary.facts();
    for (const key of dictionary.keys(Infinity)) expect(dictionary.delete(key)).toBe(true);
    expect(before.evicted > 0).toBe(evict);
    expect(dictionary.facts()).toMatchObject({ entries: 0, freeBytes: before.capacityBytes });
  });
}

const OLD = 'old '.repeat(50);
const NEW = 'new '.repeat(100);
// The first store gives the old entry up, the second makes the new one valid; the exchange frees the lock.
const deaths = [
  { where: 'before it gives the old value up', method: 'store', nth: 1, side: 'before', left: OLD },
  { where: 'after it gave the old value up', method: 'store', nth: 1, side: 'after', left: undefined },
  { where: 'before the new value is whole', method: 'store', nth: 2, side: 'before', left: undefined },
  { where: 'before the new value is linked', method: 'store', nth: 2, side: 'after', left: NEW },
  { where: 'before it frees the lock', method: 'exchange', nth: 1, side: 'before', left: NEW },
] as const;
const rescues = [
  { who: 'the master', rescue: (buffer: SharedArrayBuffer) => markDead(buffer, 3) },
  {
    who: 'a waiting thread',
    rescue: (buffer: SharedArrayBuffer) => clearAlive(new Int32Array(buffer), 3),
  },
];
for (const { where, left, ...death } of deaths) {
  for (const { who, rescue } of rescues) {
    test(`a writer that dies ${where} is cleaned up by ${who}`, async () => {
      const buffer = createZone({ name: 'd', kind: 'dictionary', sizeBytes: 4096 });
      const before = openDictionary(buffer, 1);
      for (let n = 0; n < 10; n++) before.set(`other ${n}`, `${n} `.repeat(n * 10), n === 0 ? 60_000 : 0);
      before.set('key', OLD);
      const { worker } = startThread('dying-writer', { buffer, threadId: 3, ...death });
      expect(await once(worker, 'exit')).toEqual([7]);
      expect(new Int32Array(buffer)[4]).toBe(3 + 1);
      rescue(buffer);

      const after = openDictionary(buffer, 2);
      expect(after.get('key')).toBe(left);
      for (let n = 0; n < 10; n++) expect(after.get(`other ${n}`)).toBe(`${n} `.repeat(n * 10));
      expect(after.entry('other 0')?.ttlMs).toBeGreaterThan(0);
      expect(after.facts().entries).toBe(left === undefined ? 10 : 11);
      expect(new Int32Array(buffer)[5]).toBe(1);
      for (const key of after.keys()) after.delete(key);
      expect(after.facts()).toMatchObject({ entries: 0, freeBytes: 29 * 128 });
    });
  }
}

test('a call fails while a live thread keeps the lock, and the next one succeeds', () => {
  const buffer = createZone({ name: 'd', kind: 'dictionary', sizeBytes: 4096 });
  const dictionary = openDictionary(buffer, 1);
  openDictionary(buffer, 2);
  dictionary.set('k', 1);
  const words = new Int32Array(buffer);
  words[4] = 3;
  expect(() => dictionary.get('k')).toThrow('busy');
  expect(() => dictionary.set('k', 2)).toThrow('busy');
  words[4] = 0;
  expect(dictionary.get('k')).toBe(1);
});

test('a thread that died with priority blocks no other thread', () => {
  const buffer = createZone({ name: 'd', kind: 'dictionary', sizeBytes: 4096 });
  const words = new Int32Array(buffer);
  words[PRIORITY_WORD] = 3 + 1;
  const dictionary = openDictionary(buffer, 1);
  dictionary.set('k', 1);
  expect(words[PRIORITY_WORD]).toBe(3 + 1);
  markDead(buffer, 3);
  expect(words[PRIORITY_WORD]).toBe(0);
  expect(dictionary.get('k')).toBe(1);
});

test('a thread that waits for long gets priority, and the others go on after its turn', async () => {
  const buffer = createZone({ name: 'd', kind: 'dictionary', sizeBytes: 65_536 });
  const words = new Int32Array(buffer);
  // A live holder sleeps: thread 2 gets priority, waits, and gets the lock when it is free.
  openDictionary(buffer, 9);
  words[4] = 9 + 1;
  const gate = new SharedArrayBuffer(4);
  const work = { count: 1, counters: 1, texts: 1, evict: false };
  const { next } = startThread('counter', { buffer, gate, threadId: 2, ...work });
  await next();
  const done = next();
  Atomics.store(new Int32Array(gate), 0, 1);
  Atomics.notify(new Int32Array(gate), 0);
  await expect.poll(() => Atomics.load(words, PRIORITY_WORD), { interval: 1 }).toBe(2 + 1);
  Atomics.store(words, 4, 0);
  await done;
  expect(Atomics.load(words, PRIORITY_WORD)).toBe(0);
  expect(openDictionary(buffer, 1).get('counter 0')).toBe(1);
});
