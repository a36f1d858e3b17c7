import { once } from 'node:events';
import { expect, test } from 'vitest';
import {
  createZone,
  type Dictionary,
  DictionaryFault,
  markDead,
  openDictionary,
} from '../../../src/zone/index.ts';
import { perTier } from '../../harness/tier.ts';
import { compileThreads, startThread } from '../thread.ts';

compileThreads('counter', 'dying-writer');

const OLD = 'old '.repeat(50);
const NEW = 'new '.repeat(100);
/** `value`: what readers see afterwards; `waits`: the changes of keys that wait then, besides that of another key before. */
const deaths = [
  { act: 'set', method: 'store', nth: 1, side: 'before', value: OLD, waits: [] },
  { act: 'set', method: 'store', nth: 1, side: 'after', value: undefined, waits: [] },
  { act: 'set', method: 'store', nth: 2, side: 'before', value: undefined, waits: [] },
  { act: 'set', method: 'store', nth: 2, side: 'after', value: NEW, waits: [['key', NEW]] },
  { act: 'set', method: 'add', nth: 1, side: 'before', value: NEW, waits: [['key', NEW]] },
  { act: 'set', method: 'exchange', nth: 1, side: 'before', value: NEW, waits: [['key', NEW]] },
  { act: 'delete', method: 'add', nth: 1, side: 'before', value: OLD, waits: [['key', OLD]] },
  {
    act: 'delete',
    method: 'exchange',
    nth: 1,
    side: 'before',
    value: undefined,
    waits: [['key', undefined]],
  },
  { act: 'incr', method: 'add', nth: 1, side: 'before', value: OLD, waits: [['number', 5]] },
  { act: 'incr', method: 'exchange', nth: 1, side: 'before', value: OLD, waits: [['number', 6]] },
] as const;
for (const { value, waits, ...death } of deaths)
  test(`a writer of a shared dictionary that dies in ${death.act} ${death.side} ${death.method} ${death.nth} leaves whole changes`, async () => {
    const buffer = createZone({ name: 'd', kind: 'dictionary', sizeBytes: 4096 });
    const before = openDictionary(buffer, 1);
    before.shared.share(7, 2_000);
    before.set('key', OLD);
    before.set('number', 5);
    confirmAll(before);
    before.set('waits', 1);
    before.set('deleted', 1);
    before.delete('deleted');
    const { worker } = startThread('dying-writer', { buffer, threadId: 3, ...death });
    expect(await once(worker, 'exit')).toEqual([7]);
    markDead(buffer, 3);

    expect(before.get('key')).toBe(value);
    const changes = before.shared.changes(10);
    expect(changes.map(({ key, value: changed }) => [key, changed])).toEqual([
      ['waits', 1],
      ['deleted', undefined],
      ...waits,
    ]);
    before.set('last', 1);
    const sequences = before.shared.changes(10).map(({ sequence }) => sequence);
    expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
    confirmAll(before);
    for (const key of before.keys()) before.delete(key);
    confirmAll(before);
    expect(before.facts()).toMatchObject({ entries: 0, freeBytes: 29 * 128 });
  });

test('a thread that dies before the dictionary is shared leaves none of its changes', () => {
  const buffer = createZone({ name: 'd', kind: 'dictionary', sizeBytes: 4096 });
  const dictionary = openDictionary(buffer, 1);
  dictionary.set('a', 1);
  dictionary.shared.share(7, 2_000);
  // As it is just before the store is noted.
  new Float64Array(buffer)[10] = 0;
  new Int32Array(buffer)[4] = 3 + 1;
  markDead(buffer, 3);
  dictionary.set('b', 2);
  dictionary.delete('b');
  dictionary.shared.share(7, 2_000);
  expect(dictionary.shared.changes(10).map(({ key }) => key)).toEqual(['a']);
});

const COUNT = perTier({ short: 20_000, long: 400_000 });

for (const evict of [false, true])
  test(`what the store is sent while two threads write is what they leave ${evict ? 'with' : 'without'} evict`, async () => {
    const buffer = createZone({ name: 'd', kind: 'dictionary', sizeBytes: 65_536 });
    const dictionary = openDictionary(buffer, 9, { evict });
    dictionary.shared.share(7, 2_000);
    const gate = new SharedArrayBuffer(4);
    const work = { buffer, gate, count: COUNT, counters: 20, texts: evict ? 2_000 : 16, evict };
    const threads = [1, 2].map((threadId) => startThread('counter', { threadId, ...work }));
    await Promise.all(threads.map((thread) => thread.next()));
    const done = Promise.all(threads.map((thread) => thread.next()));
    let isDone = false;
    void done.then(() => (isDone = true));
    Atomics.store(new Int32Array(gate), 0, 1);
    Atomics.notify(new Int32Array(gate), 0);

    const stored = new Map<string, unknown>();
    let position = 0;
    let last = 0;
    for (let isLast = false; !isLast;) {
      const wasDone = isDone;
      const changes = patiently(() => dictionary.shared.changes(64));
      for (const change of changes) {
        if (change.value === undefined) stored.delete(change.key);
        else stored.set(change.key, change.value);
        patiently(() => dictionary.shared.settle(change));
        last = Math.max(last, change.sequence);
      }
      position += 1;
      patiently(() => dictionary.shared.apply([], position));
      isLast = wasDone && changes.length === 0;
      await new Promise(setImmediate);
    }
    for (const { faults } of (await done) as { faults: string[] }[]) expect(faults).toEqual([]);
    const left = dictionary.list(Infinity).map(({ key, value }) => [key, value] as const);
    expect(left.filter(([key, value]) => stored.get(key) !== value)).toEqual([]);
    if (!evict) expect(stored.size).toBe(left.length);
    expect(dictionary.facts().evicted > 0).toBe(evict);
    expect(last).toBeGreaterThan(COUNT);
  });

/** A call that could not get the lock has done nothing; that may happen on a busy machine. */
function patiently<T>(call: () => T): T {
  for (;;) {
    try {
      return call();
    } catch (error) {
      if (!(error instanceof DictionaryFault && error.refusal === 'busy')) throw error;
    }
  }
}

function confirmAll({ shared }: Dictionary): void {
  for (const change of shared.changes(1_000)) shared.settle(change);
}
