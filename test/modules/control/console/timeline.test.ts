import { expect, test } from 'vitest';
import { failingLocations } from '../../../../src/modules/control/console/failing.ts';
import { RANGES, type Range } from '../../../../src/modules/control/console/ranges.ts';
import { type Sample, TIMELINE_ZONES, Timelines } from '../../../../src/modules/control/console/timeline.ts';
import { createZone, markDead } from '../../../../src/zone/index.ts';

const [minutes, hour, , day] = RANGES as readonly [Range, Range, Range, Range];
const STEP_MS = minutes.stepMs;

/** The shared memory of a gateway, and what a worker sees of it. */
function sharedHistory() {
  const zones = new Map(TIMELINE_ZONES.map((zone) => [zone.name, createZone(zone)]));
  return {
    worker: (workerId: number) =>
      new Timelines({ workerId, zone: (name) => zones.get(name) as SharedArrayBuffer }),
    dies: (workerId: number) => {
      for (const buffer of zones.values()) markDead(buffer, workerId);
    },
  };
}

const sampleAt = (atMs: number, locations: Record<string, readonly [number, number]> = {}): Sample => ({
  atMs,
  classes: [0, atMs, 0, 0, 0],
  buckets: [1, 2],
  bytes: 10,
  connections: 3,
  locations: new Map(
    Object.entries(locations).map(([key, [requests, errors]]) => [key, { requests, errors }]),
  ),
});
const timesOf = (samples: readonly Sample[]) => samples.map(({ atMs }) => atMs);

test('one worker adds to the history, and all see it', () => {
  const shared = sharedHistory();
  const [one, two] = [shared.worker(1), shared.worker(2)];
  const first = sampleAt(1_000, { 's\n/a': [4, 1] });
  one.add(() => first);
  two.add(() => sampleAt(9_000));
  expect(two.samplesOf(minutes)).toEqual([first]);
  expect(one.samplesOf(minutes)).toEqual([first]);
});

test('another worker goes on when the one that adds has gone', () => {
  const shared = sharedHistory();
  const [one, two] = [shared.worker(1), shared.worker(2)];
  one.add(() => sampleAt(1_000));
  shared.dies(1);
  two.add(() => sampleAt(4_000));
  shared.worker(1).add(() => sampleAt(8_000));
  two.close();
  shared.worker(3).add(() => sampleAt(12_000));
  expect(timesOf(two.samplesOf(minutes))).toEqual([1_000, 4_000, 12_000]);
});

test('longer ranges have coarser steps, and none keeps more than its time', () => {
  const timelines = sharedHistory().worker(1);
  const steps = 1_000;
  for (let step = 0; step <= steps; step++) timelines.add(() => sampleAt(step * STEP_MS));
  const endMs = steps * STEP_MS;
  expect(timelines.samplesOf(minutes)).toHaveLength(151);
  expect(timesOf(timelines.samplesOf(minutes))[0]).toBe(endMs - 300_000);
  expect(timesOf(timelines.samplesOf(hour)).slice(0, 3)).toEqual([0, 20_000, 40_000]);
  expect(timesOf(timelines.samplesOf(day))).toEqual([0, 480_000, 960_000, 1_440_000, 1_920_000]);
  const all = timesOf(timelines.all());
  expect(all).toEqual([...new Set(all)].toSorted((a, b) => a - b));
  expect([all[0], all.at(-1)]).toEqual([0, endMs]);
});

test('a clock that is set back does not end the history', () => {
  const timelines = sharedHistory().worker(1);
  for (const atMs of [100_000, 102_000, 50_000, 52_000]) timelines.add(() => sampleAt(atMs));
  expect(timesOf(timelines.samplesOf(minutes))).toEqual([50_000, 52_000]);
});

test('names of locations that take too much room cost the oldest samples', () => {
  const timelines = sharedHistory().worker(1);
  const locations = (step: number) =>
    Object.fromEntries(
      Array.from({ length: 64 }, (_, nth) => [`s\n/${step}/${nth}/${'ü'.repeat(500)}`, [1, 1] as const]),
    );
  for (let step = 0; step < 12; step++) timelines.add(() => sampleAt(step * STEP_MS, locations(step)));
  const kept = timelines.samplesOf(minutes);
  expect(kept.length).toBeGreaterThan(1);
  expect(kept.length).toBeLessThan(12);
  expect(kept.at(-1)?.locations.size).toBe(64);
});

const NOW = 1_000_000;
const ago = (seconds: number) => NOW - seconds * 1_000;
const streaks = [
  {
    it: 'fails since the step before its first failure',
    counts: { 100: [0, 0], 90: [5, 1], 80: [9, 3], 0: [12, 4] },
    expected: { requests: 12, errors: 4, sinceMs: ago(100), lastMs: ago(0) },
  },
  {
    it: 'still fails after a short time without a failure',
    counts: { 100: [0, 0], 90: [5, 1], 60: [9, 1], 0: [12, 2] },
    expected: { requests: 12, errors: 2, sinceMs: ago(100), lastMs: ago(0) },
  },
  {
    it: 'still fails when nobody asks for it any more',
    counts: { 200: [0, 0], 190: [5, 1], 0: [5, 1] },
    expected: { requests: 5, errors: 1, sinceMs: ago(200), lastMs: ago(190) },
  },
  {
    it: 'does not fail any more after a minute of success',
    counts: { 200: [0, 0], 190: [5, 1], 0: [50, 1] },
    expected: { requests: 50, errors: 1, lastMs: ago(190) },
  },
  {
    it: 'fails anew after it has recovered',
    counts: { 250: [0, 0], 240: [5, 1], 100: [50, 1], 90: [60, 2] },
    expected: { requests: 60, errors: 2, sinceMs: ago(100), lastMs: ago(90) },
  },
  {
    it: 'is not listed when its failures are older than the range',
    counts: { 900: [0, 0], 800: [5, 1], 0: [50, 1] },
    expected: undefined,
  },
  {
    it: 'has failed since before the range',
    counts: { 900: [0, 0], 890: [10, 5], 400: [20, 10], 350: [30, 15], 0: [40, 20] },
    expected: { requests: 10, errors: 5, sinceMs: ago(900), lastMs: ago(0) },
  },
] as const;

for (const { it, counts, expected } of streaks) {
  test(`a location ${it}`, () => {
    const samples = Object.entries(counts)
      .map(([seconds, count]) => sampleAt(ago(Number(seconds)), { 's\n/a': count }))
      .toSorted((a, b) => a.atMs - b.atMs);
    const found = failingLocations(samples, { seconds: 300, nowMs: NOW });
    expect(found).toEqual(expected ? [{ server: 's', location: '/a', ...expected }] : []);
  });
}

test('the greatest share of failures comes first, then the greatest number', () => {
  const first = sampleAt(ago(10));
  const last = sampleAt(NOW, {
    's\n/few': [10, 1],
    's\n/all': [2, 2],
    's\n/more': [20, 2],
    's\n/none': [9, 0],
  });
  const found = failingLocations([first, last], { seconds: 300, nowMs: NOW });
  expect(found.map(({ location }) => location)).toEqual(['/all', '/more', '/few']);
});
