import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ChangeFeed, Snapshots } from '../../../../src/modules/dbrest/live/change-feed.ts';
import { LiveQuery } from '../../../../src/modules/dbrest/live/live-query.ts';
import { notListening } from '../../../../src/modules/dbrest/fault/index.ts';
import { createZone, openRing } from '../../../../src/zone/index.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const TABLE = 'public.seats';

/** Reads of no rows, and which of them have ended. */
function queriesOf(count: number): {
  feed: ChangeFeed;
  queries: LiveQuery[];
  ended: () => number;
} {
  const feed = new ChangeFeed(
    openRing(createZone({ name: 'changes', kind: 'ring', capacity: 8 }), 1),
    'epoch',
  );
  const one = (): LiveQuery =>
    new LiveQuery({
      feed,
      followed: { by: TABLE, key: [] },
      readAll: () => Promise.resolve(),
      readKeys: () => Promise.resolve(),
      isPart: false,
      mostRows: 10,
      bufferBytes: 1_000,
      faultOf: () => undefined,
      ended: () => undefined,
    });
  const queries = Array.from({ length: count }, one);
  return { feed, queries, ended: () => queries.filter(({ hasEnded }) => hasEnded).length };
}

test('of the reads that clients have left, only some are followed on', async () => {
  const { queries, ended } = queriesOf(200);
  await Promise.all(queries.map((query) => query.join(undefined)));
  expect(ended()).toBe(200 - 64);
  vi.advanceTimersByTime(10_000);
  expect(ended()).toBe(200);
});

test('changes do not prolong the time for which a read without clients is followed on', async () => {
  const { queries, ended } = queriesOf(1);
  await queries[0]?.join(undefined);
  for (let second = 1; second <= 9; second += 1) {
    vi.advanceTimersByTime(1_000);
    queries[0]?.changed('any', second);
    await turn();
  }
  expect(ended()).toBe(0);
  vi.advanceTimersByTime(1_000);
  expect(ended()).toBe(1);
});

test('a read that has ended is not kept until its token expires', () => {
  const { queries } = queriesOf(1);
  queries[0]?.failIn(3_600_000, notListening());
  expect(vi.getTimerCount()).toBe(1);
  queries[0]?.end();
  expect(vi.getTimerCount()).toBe(0);
});

const PLACE = { from: 0, loggedBytes: 0 };

test('snapshots that nobody is sent make room for others', () => {
  const snapshots = new Snapshots(100);
  const [one, other] = [{}, {}];
  expect(snapshots.add(one, 'x'.repeat(80), PLACE)).toBeDefined();
  expect(snapshots.add(other, 'x'.repeat(80), PLACE)).toBeDefined();
  expect([snapshots.of(one), snapshots.of(other)?.bytes.length]).toEqual([undefined, 80]);
});

test('a snapshot takes its room until all clients have been sent it', () => {
  const snapshots = new Snapshots(100);
  const [one, other, slow, fast] = [{}, {}, {}, {}];
  const sent = snapshots.add(one, 'x'.repeat(80), PLACE);
  for (const client of [slow, fast]) sent?.hold(client);
  snapshots.drop(one);
  sent?.release(fast);
  expect(snapshots.add(other, 'x'.repeat(80), PLACE)).toBeUndefined();
  sent?.release(slow);
  expect(snapshots.add(other, 'x'.repeat(80), PLACE)).toBeDefined();
});
