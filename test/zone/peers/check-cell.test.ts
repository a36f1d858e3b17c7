import { expect, test } from 'vitest';
import { createZone, MAX_CHECKS, PeerTable } from '../../../src/zone/index.ts';

const openTables = (): [PeerTable, PeerTable] => {
  const zone = createZone({ name: 'upstream u', kind: 'peers', slots: 4, threads: 16 });
  return [new PeerTable(zone, 1), new PeerTable(zone, 2)];
};

const FACTS = { status: 200, spentMs: 12, endedMs: 1_790_000_000_000 };

test('the result of a check is the same in all threads', () => {
  const [one, other] = openTables();
  const cell = one.claim('a', 1).check(7);
  cell.count(true, FACTS);
  cell.decide('healthy', FACTS.endedMs);
  const { verdict, passes, fails, successes, status, spentMs, probedMs, changedMs } = other
    .claim('a', 1)
    .check(7);
  expect([verdict, passes, fails, successes, status, spentMs]).toEqual(['healthy', 1, 0, 1, 200, 12]);
  expect([probedMs, changedMs]).toEqual([FACTS.endedMs, FACTS.endedMs]);
});

test('a failure ends a row of successes, and the totals go on', () => {
  const [one] = openTables();
  const cell = one.claim('a', 1).check(7);
  for (const passed of [true, true, false, true]) cell.count(passed, FACTS);
  expect([cell.passes, cell.fails, cell.successes, cell.failures]).toEqual([1, 0, 3, 1]);
});

test('checks of a peer, and those of other peers, have results of their own', () => {
  const [one] = openTables();
  const [a, b] = [one.claim('a', 1), one.claim('b', 1)];
  a.check(7).decide('unhealthy', 1);
  expect([a.check(8).verdict, b.check(7).verdict, a.check(7).verdict]).toEqual([
    'unknown',
    'unknown',
    'unhealthy',
  ]);
});

test('the checks of two configurations fit in; a further one takes the place of the oldest', () => {
  const [one] = openTables();
  const state = one.claim('a', 1);
  for (let digest = 1; digest <= 2 * MAX_CHECKS; digest++) {
    const cell = state.check(digest);
    cell.load = digest === 3 ? 1 : 2;
    cell.decide('healthy', 1);
  }
  expect(state.check(100).verdict).toBe('unknown');
  expect(state.check(1).verdict).toBe('healthy');
  expect(state.check(3).verdict).toBe('unknown');
});

test('a slot that another peer takes over has no results', () => {
  const [one] = openTables();
  const first = one.claim('first', 1);
  first.check(7).decide('unhealthy', 1);
  first.release();
  for (const name of ['b', 'c', 'd', 'e']) expect(one.claim(name, 1).check(7).verdict).toBe('unknown');
});
