import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DeadlineTimer } from '../../../src/modules/dbrest/session/session.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** A timer for these deadlines, and the times at which it found one passed. */
function timerOf(deadlines: readonly number[]): { timer: DeadlineTimer; passed: number[][] } {
  const waiting = new Set(deadlines);
  const passed: number[][] = [];
  const timer = new DeadlineTimer((nowMs) => {
    const late = [...waiting].filter((atMs) => atMs <= nowMs);
    for (const atMs of late) waiting.delete(atMs);
    passed.push(late);
    return Math.min(...waiting);
  });
  for (const atMs of deadlines) timer.add(atMs, 0);
  return { timer, passed };
}

const cases = [
  { it: 'one deadline', deadlines: [30], passed: [[30]] },
  { it: 'deadlines in order', deadlines: [10, 20, 30], passed: [[10], [20], [30]] },
  { it: 'an earlier deadline that comes later', deadlines: [30, 10], passed: [[10], [30]] },
  { it: 'deadlines at the same time', deadlines: [10, 10.5, 10.2], passed: [[10], [10.5, 10.2]] },
];

for (const { it, deadlines, passed } of cases) {
  test(`one timer calls for ${it}`, () => {
    const watched = timerOf(deadlines);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(100);
    expect(watched.passed).toEqual(passed);
    expect(vi.getTimerCount()).toBe(0);
  });
}

test('a stopped timer calls no more, and takes deadlines again', () => {
  const { timer, passed } = timerOf([10]);
  timer.stop();
  vi.advanceTimersByTime(100);
  expect(passed).toEqual([]);
  timer.add(performance.now() + 10, performance.now());
  vi.advanceTimersByTime(10);
  expect(passed).toHaveLength(1);
});
