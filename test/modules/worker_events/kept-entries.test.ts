import { expect, test, vi } from 'vitest';
import { KeptEntries } from '../../../src/modules/worker_events/kept-entries.ts';
import { EventStream, Feed } from '../../../src/event-streams.ts';
import { framesOf } from '../../../src/modules/worker_events/stream.ts';
import { createZone, openRing } from '../../../src/zone/index.ts';
import { compileThreads, startThread } from '../../zone/thread.ts';

compileThreads('publisher');

const EVERYTHING = { since: 0, limit: Infinity, channel: undefined, type: undefined };
const ringOf = (capacity: number) => openRing(createZone({ name: 'bus', kind: 'ring', capacity }), 1);

test.each([1, 100, 300])('a thousand streams read each of %i events once', async (events) => {
  const ring = ringOf(1_024);
  const read = vi.spyOn(ring, 'read');
  const feed = new Feed(ring);
  const frameOf = framesOf(new KeptEntries(ring), { channel: undefined, type: undefined });
  const received = Array.from({ length: 1_000 }, () => '');
  received.forEach((_, i) => {
    const write = (text: string | Uint8Array): boolean => {
      received[i] += String(text);
      return true;
    };
    const out = { write, drained: () => Promise.resolve(), end: () => undefined };
    return new EventStream(feed, out, { from: 1, frameOf });
  });
  for (let i = 1; i <= events; i += 1) ring.publish({ channel: 'c', type: 't', payload: `p${i}` });
  await vi.waitFor(() => expect(received.every((text) => text.includes(`"p${events}"`))).toBe(true), {
    timeout: 20_000,
  });
  expect(new Set(received).size).toBe(1);
  expect(received[0]?.match(/^id: /gm)).toHaveLength(events);
  expect(read.mock.calls.filter(([generation]) => generation <= events)).toHaveLength(events);
  feed.close();
});

test('pages read entries once, and read again what was overwritten', () => {
  const ring = ringOf(4);
  const entries = new KeptEntries(ring);
  const read = vi.spyOn(ring, 'read');
  const generations = () => [...(entries.page(EVERYTHING)?.entries.matchAll(/"generation":(\d+)/g) ?? [])];
  const page = () => generations().map(([, generation]) => Number(generation));
  for (let i = 1; i <= 4; i += 1) ring.publish({ channel: 'c', type: 't' });
  expect(page()).toEqual([1, 2, 3, 4]);
  expect(page()).toEqual([1, 2, 3, 4]);
  expect(read).toHaveBeenCalledTimes(4);
  ring.publish({ channel: 'c', type: 't' });
  expect(page()).toEqual([2, 3, 4, 5]);
  expect(read).toHaveBeenCalledTimes(5);
});

test.each([
  ['kept', 64],
  ['too many to be kept', 5_000],
])('while others publish, a page is the ring of one moment: %s entries', async (_, capacity) => {
  const count = 30_000;
  const buffer = createZone({ name: 'bus', kind: 'ring', capacity });
  const entries = new KeptEntries(openRing(buffer, 9));
  const gate = new SharedArrayBuffer(4);
  const publishers = [1, 2].map((threadId) => startThread('publisher', { buffer, gate, threadId, count }));
  await Promise.all(publishers.map((thread) => thread.next()));
  const done = Promise.all(publishers.map((thread) => thread.next()));
  Atomics.store(new Int32Array(gate), 0, 1);
  Atomics.notify(new Int32Array(gate), 0);
  let pages = 0;
  let newest = 0;
  while (newest < 2 * count) {
    const page = entries.page(EVERYTHING);
    if (!page) continue;
    const { facts } = page;
    pages += 1;
    newest = facts.newestGeneration;
    const events = JSON.parse(`[${page.entries}]`) as { generation: number }[];
    const length = newest === 0 ? 0 : newest - facts.oldestGeneration + 1;
    expect(events.map(({ generation }) => generation)).toEqual(
      Array.from({ length }, (__, i) => facts.oldestGeneration + i),
    );
    expect(length).toBeLessThanOrEqual(capacity);
  }
  expect(pages).toBeGreaterThan(1);
  await done;
});
