import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LimitedLines } from '../../../src/modules/slow_log/limited-lines.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('lines over the rate are counted, and one line a second tells how many', () => {
  const written: string[] = [];
  const lines = new LimitedLines(
    (line) => written.push(line),
    (count) => `${count} more`,
  );
  for (let i = 0; i < 5; i++) lines.write(`a${i}`, 2);
  expect(written).toEqual(['a0', 'a1']);
  vi.advanceTimersByTime(1_000);
  lines.write('b', 2);
  vi.advanceTimersByTime(1_000);
  expect(written).toEqual(['a0', 'a1', '3 more', 'b']);
  expect(vi.getTimerCount()).toBe(0);
});
