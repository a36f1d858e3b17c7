import { expect, test } from 'vitest';
import {
  Counters,
  createCounterMemory,
  leaveCounters,
  MAX_BOUNDS,
  type MetricFamily,
  withRows,
} from '../../src/zone/index.ts';

const HITS = { name: 'hits_total', help: 'Hits.' };
const LEVEL = { name: 'level', help: 'Level.' };
const TIME = { name: 'time_seconds', help: 'Time.', scale: 'seconds' } as const;

const threads = (count: number, maxSeries = 100) => {
  const memory = createCounterMemory(maxSeries, count);
  return {
    memory,
    counters: Array.from({ length: count }, (_, id) => new Counters(memory, id)) as [Counters, Counters],
  };
};

/** `name{label values}` and value, in the order of the reading. */
const flat = (families: readonly MetricFamily[]): string[] =>
  families.flatMap(({ name, samples }) =>
    samples.map(({ labels, value }) => `${name}{${Object.values(labels).join(',')}} ${value}`),
  );

test('every thread reads the sum of what all have counted', () => {
  const { counters } = threads(2);
  const [first, second] = counters;
  first.counter(HITS, { code: '200' }).add();
  second.counter(HITS, { code: '200' }).add(2);
  second.counter(HITS, { code: '404' }).add();
  const expected = ['hits_total{200} 3', 'hits_total{404} 1'];
  expect(flat(first.read())).toEqual(expected);
  expect(flat(second.read())).toEqual(expected);
});

test('a series that is opened again continues its count', () => {
  const { counters, memory } = threads(2);
  counters[1].counter(HITS).add(5);
  const reopened = new Counters(memory, 1);
  const hits = reopened.counter(HITS);
  hits.add();
  expect(reopened.total(hits)).toBe(6);
});

test('a histogram puts a value on a bound into the bucket below it, and a value beyond the last bound into an extra bucket', () => {
  const { counters } = threads(2);
  const [first, second] = counters;
  for (const value of [0, 0.001, 0.002]) first.histogram(TIME).observe(value);
  for (const value of [300, 301]) second.histogram(TIME).observe(value);
  const [family] = first.read();
  expect(family).toMatchObject({
    kind: 'histogram',
    samples: [{ buckets: [1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1] }],
  });
  expect(family?.samples[0]?.value).toBeCloseTo(601.003, 9);
});

test('the bounds of times are those that the memory was made with, for all threads', () => {
  const memory = createCounterMemory(100, 2, [0.5, 2]);
  const [first, second] = [new Counters(memory, 0), new Counters(memory, 1)];
  for (const value of [0.5, 0.6, 3]) first.histogram(TIME).observe(value);
  second.histogram(TIME).observe(2);
  second.histogram({ ...TIME, name: 'size_bytes', scale: 'bytes' }).observe(65);
  expect(first.read().map(({ samples: [sample] }) => sample)).toMatchObject([
    { bounds: expect.arrayContaining([64]), value: 65 },
    { bounds: [0.5, 2], buckets: [1, 2, 1], value: 6.1 },
  ]);
});

test('histograms with the most bounds never write into the cells of another series', () => {
  const bounds = Array.from({ length: MAX_BOUNDS }, (_, nth) => nth + 1);
  const memory = createCounterMemory(30, 1, bounds);
  const counters = new Counters(memory, 0);
  const names = Array.from({ length: 30 }, (_, nth) => `h${nth}`);
  const all = names.map((name) => counters.histogram(TIME, { name }));
  for (const one of all) for (let value = 1; value <= MAX_BOUNDS + 1; value++) one.observe(value);
  counters.counter(HITS).add(7);
  const [hits, times] = counters.read();
  expect(hits?.samples.map(({ value }) => value)).toEqual([7]);
  const counts = times?.samples.map(({ labels, buckets }) => [labels['name'], new Set(buckets).size]) ?? [];
  expect(counts.length).toBeGreaterThan(20);
  expect(new Set(counts.map(([, kinds]) => kinds))).toEqual(new Set([1]));
  const seen = times?.samples.reduce((sum, { buckets = [] }) => sum + buckets.reduce((a, b) => a + b, 0), 0);
  expect(seen).toBe(30 * (MAX_BOUNDS + 1));
});

test('sampled gauges of one name add up within a thread and over all, and end with their last sampler', () => {
  const { counters } = threads(2);
  const [first, second] = counters;
  const ends = [
    first.sample(LEVEL, {}, () => 1),
    first.sample(LEVEL, {}, () => 2),
    second.sample(LEVEL, {}, () => 4),
  ];
  second.refresh();
  expect(flat(first.read())).toEqual(['level{} 7']);
  ends[0]?.();
  expect(flat(first.read())).toEqual(['level{} 6']);
  for (const end of ends) end();
  expect(flat(first.read())).toEqual([]);
});

test('values of the whole process are read once, from the thread that reads', () => {
  const { counters } = threads(2);
  for (const one of counters) one.collect('gauge', { metric: LEVEL, labels: { zone: 'a' }, read: () => 3 });
  expect(flat(counters[0].read())).toEqual(['level{a} 3']);
  const end = counters[0].collect('gauge', { metric: LEVEL, labels: { zone: 'a' }, read: () => 4 });
  expect(flat(counters[0].read())).toEqual(['level{a} 4']);
  end();
  expect(flat(counters[0].read())).toEqual([]);
});

test('a thread that is gone leaves its counts, and its gauges end', () => {
  const { counters, memory } = threads(2);
  const [first, second] = counters;
  first.gauge(LEVEL).set(1);
  second.gauge(LEVEL).set(10);
  second.counter(HITS).add();
  leaveCounters(memory, 1);
  expect(flat(first.read())).toEqual(['hits_total{} 1', 'level{} 1']);
});

test('series beyond the limit are counted as "other", gauges beyond it not at all', () => {
  const { counters } = threads(2, 3);
  const [first, second] = counters;
  for (const code of ['1', '2', '3', '4']) first.counter(HITS, { code, method: 'GET' }).add();
  for (const code of ['4', '5', '1']) second.counter(HITS, { code, method: 'GET' }).add();
  second.gauge(LEVEL).set(1);
  expect(flat(second.read())).toEqual([
    'hits_total{1,GET} 2',
    'hits_total{2,GET} 1',
    'hits_total{3,GET} 1',
    'hits_total{other,other} 3',
  ]);
});

test('labels of any length use up room but are never corrupted', () => {
  const { counters } = threads(2, 10);
  const path = 'ü"\\\n'.repeat(2_000);
  counters[0].counter(HITS, { path }).add();
  for (let i = 0; i < 20; i++) counters[0].counter(HITS, { path: `${i}${path}` }).add();
  const [family] = counters[1].read();
  expect(family?.samples.map(({ labels }) => labels['path'])).toContain(path);
  expect(family?.samples.reduce((sum, { value }) => sum + value, 0)).toBeLessThanOrEqual(21);
  expect(flat(counters[1].read()).at(-1)).toMatch(/^hits_total\{other\}/);
});

test('rows for more threads can be added later, and existing rows stay', () => {
  const { memory, counters } = threads(2);
  counters[1].counter(HITS).add();
  const larger = withRows(memory, 4);
  const fourth = new Counters(larger, 3);
  fourth.counter(HITS).add();
  expect(flat(fourth.read())).toEqual(['hits_total{} 2']);
  expect(flat(counters[1].read())).toEqual(['hits_total{} 1']);
  counters[1].use(larger);
  expect(flat(counters[1].read())).toEqual(['hits_total{} 2']);
  expect(() => new Counters(memory, 3)).toThrow('thread 3 has no row');
});

test('a bucket keeps the latest sampled trace, of whichever thread', () => {
  const memory = createCounterMemory(100, 2, [0.5, 2]);
  const metric = { name: 'gw_h', help: 'H.', scale: 'seconds' } as const;
  const [one, other] = [new Counters(memory, 0), new Counters(memory, 1)];
  const traceOf = (digit: string) => ({ traceId: digit.repeat(32), spanId: digit.repeat(16), sampled: true });
  one.histogram(metric).observe(0.1, traceOf('1'));
  other.histogram(metric).observe(1, traceOf('f'));
  one.histogram(metric).observe(1.5, { ...traceOf('2'), sampled: false });
  one.histogram(metric).observe(3);
  const shown = (counters: Counters, exemplars: boolean) =>
    counters.read({ exemplars }).find(({ name }) => name === 'gw_h')?.samples[0]?.exemplars;
  expect(shown(other, true)).toMatchObject([
    { traceId: '1'.repeat(32), spanId: '1'.repeat(16), value: 0.1 },
    { traceId: 'f'.repeat(32), spanId: 'f'.repeat(16), value: 1 },
    undefined,
  ]);
  expect(shown(one, false)).toBeUndefined();
});

test('the memory for traces is bounded: of more buckets than it has room for, the latest are kept', () => {
  const counters = new Counters(createCounterMemory(4_000, 1, [1]), 0);
  for (let nth = 0; nth < 3_000; nth++) {
    const traceId = nth.toString(16).padStart(32, '0');
    const metric = { name: 'gw_h', help: 'H.', scale: 'seconds' } as const;
    counters
      .histogram(metric, { nth: String(nth) })
      .observe(0.5, { traceId, spanId: '1'.repeat(16), sampled: true });
  }
  const samples = counters.read({ exemplars: true }).find(({ name }) => name === 'gw_h')?.samples ?? [];
  const kept = samples.filter(({ exemplars }) => exemplars?.[0]);
  expect(kept.length).toBeGreaterThan(1_000);
  expect(kept.length).toBeLessThanOrEqual(2_048);
  for (const { labels, exemplars } of kept)
    expect(Number.parseInt(exemplars?.[0]?.traceId ?? '', 16)).toBe(Number(labels['nth']));
});
