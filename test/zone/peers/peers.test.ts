import { expect, test } from 'vitest';
import { createZone, keepsZone, markDead, PeerTable, zoneFault } from '../../../src/zone/index.ts';
import { compileThreads, startThread } from '../thread.ts';

compileThreads('chooser');

const declaration = (slots = 4, threads = 16) =>
  ({ name: 'upstream u', kind: 'peers', slots, threads }) as const;

test('a peer is the same peer in every thread', () => {
  const zone = createZone(declaration());
  const [here, there] = [1, 2].map((threadId) => new PeerTable(zone, threadId).claim('a', 5));
  here?.enter(0);
  if (here) here.fails = 3;
  expect(there).toMatchObject({ requests: 1, fails: 3, effectiveWeight: 5, currentWeight: 0 });
});

test('a peer that was released and comes back has its former state', () => {
  const table = new PeerTable(createZone(declaration()), 1);
  const before = table.claim('a', 1);
  before.fails = 2;
  before.release();
  expect(table.claim('a', 1).fails).toBe(2);
});

test('a released peer gives way to a new one when there is no room left', () => {
  const table = new PeerTable(createZone(declaration(2)), 1);
  const [first] = ['a', 'b'].map((key) => table.claim(key, 1));
  if (first) first.fails = 9;
  first?.release();
  expect(table.claim('c', 7)).toMatchObject({ fails: 0, effectiveWeight: 7, requests: 0 });
});

test('a peer that still has requests does not give way', () => {
  const zone = createZone(declaration(1));
  const busy = new PeerTable(zone, 1).claim('a', 1);
  busy.enter(0);
  busy.release();
  new PeerTable(zone, 2).claim('b', 1).enter(0);
  expect(busy.requests).toBe(1);
});

test('a peer without room in the zone is known to one thread alone', () => {
  const zone = createZone(declaration(1));
  const [here, there] = [1, 2].map((threadId) => {
    const table = new PeerTable(zone, threadId);
    table.claim('a', 1);
    return table.claim('b', 3);
  });
  here?.enter(0);
  expect([here?.requests, there?.requests]).toEqual([1, 0]);
  expect(there?.effectiveWeight).toBe(3);
});

test('a reload keeps the memory as long as its size stays', () => {
  const zone = createZone(declaration(4));
  expect(keepsZone(zone, declaration(4))).toBe(true);
  expect(keepsZone(zone, declaration(5))).toBe(false);
  expect(keepsZone(zone, declaration(4, 32))).toBe(false);
});

test('a zone of too many peers is refused with the bytes it needs', () => {
  expect(zoneFault(declaration(1_500_000))).toMatch(
    /^zone "upstream u" is too large: 1500000 peers need \d+ bytes, at most 268435456 are allowed$/,
  );
});

test('requests of a dead thread end with it, those of others go on', () => {
  const zone = createZone(declaration());
  const [dying, living] = [1, 2].map((threadId) => new PeerTable(zone, threadId).claim('a', 1));
  for (const state of [dying, dying, living]) state?.enter(0);
  markDead(zone, 1);
  expect(living?.requests).toBe(1);
  markDead(zone, 1);
  expect(living?.requests).toBe(1);
});

test('peers that only a dead thread used give way to new ones', () => {
  const zone = createZone(declaration(1));
  new PeerTable(zone, 1).claim('a', 1).enter(0);
  markDead(zone, 1);
  const table = new PeerTable(zone, 2);
  table.claim('b', 1).fails = 4;
  expect(new PeerTable(zone, 3).claim('b', 1).fails).toBe(4);
});

test('4 threads share requests exactly by the weights of two peers, and each releases its own', async () => {
  const zone = createZone(declaration());
  const gate = new SharedArrayBuffer(4);
  const count = 20_000;
  const threads = [1, 2, 3, 4].map((threadId) =>
    startThread('chooser', { buffer: zone, gate, threadId, count, held: threadId }),
  );
  await Promise.all(threads.map((thread) => thread.next()));
  const results = Promise.all(threads.map((thread) => thread.next()));
  Atomics.store(new Int32Array(gate), 0, 1);
  Atomics.notify(new Int32Array(gate), 0);
  const chosen = (await results) as [number, number][];
  expect([0, 1].map((peer) => chosen.reduce((sum, ofThread) => sum + (ofThread[peer] ?? 0), 0))).toEqual([
    2 * count,
    2 * count,
  ]);
  const table = new PeerTable(zone, 5);
  const open = (): number => table.claim('a', 1).requests + table.claim('b', 1).requests;
  expect(open()).toBe(1 + 2 + 3 + 4);
  for (const threadId of [1, 2, 3, 4]) markDead(zone, threadId);
  expect(open()).toBe(0);
});
