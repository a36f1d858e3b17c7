import { describe, expect, test } from 'vitest';
import { createZone, openRing, type ReceivedEvent, type Ring } from '../../src/zone/index.ts';
import { receivedAt } from './threads/received.ts';

const event = { channel: 'c', type: 't' };
const ringOf = (capacity: number) => {
  const buffer = createZone({ name: 'bus', kind: 'ring', capacity });
  return { buffer, ring: openRing(buffer, 1) };
};
const at = (...counters: number[]): ReceivedEvent[] => counters.map(receivedAt);
const fieldsOf = (ring: Ring) =>
  ring
    .snapshot()
    ?.entries.map(({ position, counter, sequence, origin }) => [position, counter, sequence, origin]);

const entries: { it: string; capacity?: number; act: (ring: Ring) => void; fields: number[][] }[] = [
  { it: 'an own event that is not shared', act: (r) => r.publish(event), fields: [[0, 0, 1, 0]] },
  {
    it: 'events that were received, in their order',
    act: (r) => r.receive(at(7, 8)),
    fields: [
      [7, 7, 49, 2],
      [8, 8, 56, 3],
    ],
  },
  {
    it: 'own events, with the position of the ring as their bound',
    act: (r) => [r.publish(event), r.receive(at(7)), r.publish(event), r.publishAll([event])],
    fields: [
      [0, 0, 1, 0],
      [7, 7, 49, 2],
      [7, 0, 3, 0],
      [7, 0, 4, 0],
    ],
  },
  {
    it: 'own events, with a position that has moved without a receive, also back',
    act: (r) => [r.movePosition(9), r.publish(event), r.movePosition(4), r.publish(event)],
    fields: [
      [9, 0, 1, 0],
      [4, 0, 2, 0],
    ],
  },
  {
    it: 'an own event that has got its place',
    act: (r) => [r.movePosition(4), r.publish(event), r.confirm([{ generation: 1, counter: 6 }])],
    fields: [[4, 6, 1, 0]],
  },
  {
    it: 'an own event that overwrote one that was received',
    capacity: 1,
    act: (r) => [r.receive(at(7)), r.publish(event)],
    fields: [[7, 0, 2, 0]],
  },
  {
    it: 'an own event that overwrote one with a place',
    capacity: 1,
    act: (r) => [r.publish(event), r.confirm([{ generation: 1, counter: 6 }]), r.publish(event)],
    fields: [[0, 0, 2, 0]],
  },
];
for (const { it, capacity = 8, act, fields } of entries) {
  test(`a ring has ${it}`, () => {
    const { ring } = ringOf(capacity);
    act(ring);
    expect(fieldsOf(ring)).toEqual(fields);
    for (const entry of ring.snapshot()?.entries ?? []) expect(ring.read(entry.generation)).toEqual(entry);
  });
}

test('header and entries have the specified layout', () => {
  const { buffer, ring } = ringOf(4);
  ring.share(7);
  ring.receive([{ channel: 'c', type: 't', timestampMs: 1.5, counter: 2 ** 40, origin: 3, sequence: 9 }]);
  expect([...new Float64Array(buffer, 80, 3)]).toEqual([2 ** 40, 1, 7]);
  const slot = Buffer.from(buffer, 192, 704);
  expect([16, 32, 680, 688].map((at) => slot.readDoubleLE(at))).toEqual([1.5, 2 ** 40, 2 ** 40, 9]);
  expect(slot.readUInt32LE(696)).toBe(3);
});

test('receive keeps the time of the publisher, and returns the last generation', () => {
  const { ring } = ringOf(8);
  expect(ring.receive(at(7, 8))).toBe(2);
  const snapshot = ring.snapshot();
  expect(snapshot?.entries.map(({ timestampMs }) => timestampMs)).toEqual([7_000, 8_000]);
  expect(snapshot?.entries.map(({ payload }) => payload)).toEqual(at(7, 8).map(({ payload }) => payload));
  expect(snapshot?.lastPublishMs).toBe(8_000);
});

test('receive keeps what comes before an event beyond the limits', () => {
  const { buffer, ring } = ringOf(8);
  const long = { ...receivedAt(8), channel: 'c'.repeat(65) };
  expect(() => ring.receive([receivedAt(7), long, receivedAt(9)])).toThrow(RangeError);
  expect([ring.range()?.newest, ring.position, new Int32Array(buffer)[6]]).toEqual([1, 7, 1]);
});

test('share begins with the next generation, and stays', () => {
  const { ring } = ringOf(2);
  for (let n = 0; n < 3; n++) ring.publish(event);
  expect([ring.sharedFrom, ring.share(1), ring.sharedFrom]).toEqual([0, 4, 4]);
  ring.publish(event);
  expect([ring.share(1), ring.sharedFrom]).toEqual([4, 4]);
});

const confirm = (generation: number) => (ring: Ring) => ring.confirm([{ generation, counter: 8 }]);

describe('watchers', () => {
  const acts: { it: string; act: (ring: Ring) => unknown; gives: unknown; wakes: number }[] = [
    { it: 'a receive of several events', act: (r) => r.receive(at(8, 9)), gives: 5, wakes: 1 },
    { it: 'a receive of nothing', act: (r) => r.receive([]), gives: 0, wakes: 0 },
    { it: 'the counter of an own event', act: confirm(3), gives: 1, wakes: 1 },
    { it: 'the counter of an overwritten event', act: confirm(1), gives: 0, wakes: 0 },
    { it: 'the counter of an event that was received', act: confirm(2), gives: 0, wakes: 0 },
    { it: 'the counter of an event to come', act: confirm(4), gives: 0, wakes: 0 },
    { it: 'another position', act: (r) => r.movePosition(8), gives: true, wakes: 0 },
    { it: 'sharing', act: (r) => r.share(1), gives: 4, wakes: 0 },
  ];
  for (const { it, act, gives, wakes } of acts) {
    test(`are woken by ${it}: ${wakes}`, () => {
      const { buffer, ring } = ringOf(2);
      ring.publish(event);
      ring.receive(at(7));
      ring.publish(event);
      const before = new Int32Array(buffer)[6] as number;
      expect(act(ring)).toBe(gives);
      expect((new Int32Array(buffer)[6] as number) - before).toBe(wakes);
    });
  }

  test('see the counter of an own event', async () => {
    const { ring } = ringOf(8);
    ring.publish(event);
    const placed = new Promise((resolve) => void ring.watch(() => resolve(ring.read(1)?.counter)));
    ring.confirm([{ generation: 1, counter: 6 }]);
    expect(await placed).toBe(6);
  });
});

test('the lock of a live thread makes no change wait for ever', () => {
  const { buffer, ring } = ringOf(4);
  ring.publish(event);
  openRing(buffer, 2);
  new Int32Array(buffer)[4] = 3;
  expect([ring.receive(at(7)), ring.confirm([{ generation: 1, counter: 7 }]), ring.share(1)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect([ring.movePosition(7), ring.position, ring.sharedFrom]).toEqual([false, 0, 0]);
  new Int32Array(buffer)[4] = 0;
  expect([ring.receive(at(7)), ring.position]).toEqual([2, 7]);
});

test('a ring goes on from the last generation of another one, unless it has begun', () => {
  const { ring } = ringOf(4);
  expect(ring.beginAt(7)).toBe(true);
  ring.receive([{ ...event, timestampMs: 5, counter: 0, sequence: 0, origin: 0 }]);
  expect(ring.publish(event)?.generation).toBe(8);
  expect(ring.range()).toEqual({ oldest: 7, newest: 8 });
  expect(ring.facts()?.droppedEvents).toBe(6);
  expect(ring.read(7)).toMatchObject({ timestampMs: 5, sequence: 7, counter: 0, origin: 0 });
  expect(ring.beginAt(20)).toBe(false);
  expect(ring.range()?.newest).toBe(8);
});
