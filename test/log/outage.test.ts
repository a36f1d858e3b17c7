import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CountedLine, Outage, OUTAGE_BYTES } from '../../src/log/index.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function openWorkers(count: number) {
  const lines: string[] = [];
  const shared = new Int32Array(new SharedArrayBuffer(OUTAGE_BYTES));
  const told = { prefix: 'db', requests: 'requests', begun: (why: string) => `down: ${why}`, over: 'back' };
  const open = (workerId: number) =>
    new Outage({
      log: { write: (level, message) => void lines.push(`${level} ${message}`) },
      lines: told,
      shared,
      workerId,
    });
  const workers = Array.from({ length: count }, (_, index) => open(index + 1)) as [Outage, Outage];
  return { workers, lines, open };
}

test('an outage that all workers notice has one begin and one end, and the failed requests of all', () => {
  const { workers, lines } = openWorkers(3);
  for (const worker of workers) worker.begin('refused');
  for (const worker of workers) for (let i = 0; i < 100; i++) worker.failed();
  for (const worker of workers) worker.end();
  expect(lines).toEqual(['error db: down: refused', 'notice db: back; 300 requests failed']);
  expect(vi.getTimerCount()).toBe(0);
});

test('failed requests are told after a second, ten seconds and each minute, while there are more', () => {
  const { workers, lines } = openWorkers(1);
  const [worker] = workers;
  worker.begin('refused');
  const toldAfter = (ms: number) => {
    worker.failed();
    vi.advanceTimersByTime(ms);
    return lines.splice(0);
  };
  expect(toldAfter(999)).toEqual(['error db: down: refused']);
  expect(toldAfter(1)).toEqual(['error db: 2 requests have failed so far']);
  expect(toldAfter(8_999)).toEqual([]);
  expect(toldAfter(1)).toEqual(['error db: 4 requests have failed so far']);
  expect(toldAfter(60_000)).toEqual(['error db: 5 requests have failed so far']);
  vi.advanceTimersByTime(600_000);
  worker.end();
  expect(lines).toEqual(['notice db: back; 5 requests failed']);
});

test('an outage that no request has met is over without a number, and the next one counts from zero', () => {
  const { workers, lines } = openWorkers(1);
  const [worker] = workers;
  for (const requests of [2, 0]) {
    worker.begin('refused');
    for (let i = 0; i < requests; i++) worker.failed();
    worker.end();
    worker.end();
  }
  expect(lines).toEqual([
    'error db: down: refused',
    'notice db: back; 2 requests failed',
    'error db: down: refused',
    'notice db: back',
  ]);
});

test('a worker that dies in an outage does not keep it under way', () => {
  const { workers, open } = openWorkers(2);
  const [first, second] = workers;
  second.begin('refused');
  expect(first.isUnderWay).toBe(true);
  open(2);
  expect(first.isUnderWay).toBe(false);
});

test('a counted line is told by its caller, then once a second with the number since', () => {
  const told: number[] = [];
  const line = new CountedLine((count) => void told.push(count));
  expect([line.add(), line.add(), line.add(5)]).toEqual([true, false, false]);
  vi.advanceTimersByTime(1_000);
  expect(told).toEqual([6]);
  expect(line.add()).toBe(false);
  line.close();
  expect(told).toEqual([6, 1]);
  expect(line.add()).toBe(true);
  vi.advanceTimersByTime(1_000);
  expect(vi.getTimerCount()).toBe(0);
});
