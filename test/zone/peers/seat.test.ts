import { expect, test } from 'vitest';
import { createZone, markDead, PeerTable } from '../../../src/zone/index.ts';
import { Seat } from '../../../src/zone/seat.ts';

const SILENCE_MS = 1000;

test('one thread holds the seat until it leaves it', () => {
  const words = new Int32Array(new SharedArrayBuffer(8));
  const [first, second] = [1, 2].map((threadId) => new Seat(words, { at: 0, threadId, nowMs: () => 5 }));
  const holds = () => [first?.hold(SILENCE_MS), second?.hold(SILENCE_MS)];
  expect([holds(), holds()]).toEqual([
    [true, false],
    [true, false],
  ]);
  second?.leave();
  expect(holds()).toEqual([true, false]);
  first?.leave();
  expect([second?.hold(SILENCE_MS), first?.hold(SILENCE_MS)]).toEqual([true, false]);
});

test('a holder that is silent for too long has lost the seat, also when the clock wraps around', () => {
  const words = new Int32Array(new SharedArrayBuffer(8));
  let nowMs = 2 ** 31 - 500;
  const [first, second] = [1, 2].map((threadId) => new Seat(words, { at: 0, threadId, nowMs: () => nowMs }));
  expect(first?.hold(SILENCE_MS)).toBe(true);
  nowMs += SILENCE_MS;
  expect(second?.hold(SILENCE_MS)).toBe(false);
  nowMs += 1;
  expect(second?.hold(SILENCE_MS)).toBe(true);
  expect(first?.hold(SILENCE_MS)).toBe(false);
});

test('the seat of a thread that has exited is free at once', () => {
  const zone = createZone({ name: 'upstream u', kind: 'peers', slots: 2, threads: 16 });
  const [first, second] = [1, 2].map((threadId) => new PeerTable(zone, threadId).seat);
  expect(first?.hold(SILENCE_MS)).toBe(true);
  expect(second?.hold(SILENCE_MS)).toBe(false);
  markDead(zone, 1);
  expect(second?.hold(SILENCE_MS)).toBe(true);
});
