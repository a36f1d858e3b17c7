import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RepeatedLines } from '../../src/log/repeated-lines.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open() {
  const told: string[] = [];
  const repeated = new RepeatedLines((level, message) => told.push(`[${level}] ${message}`));
  return { repeated, told };
}

test('300 equal alerts of a second are one line and a count, and so are those of the next', () => {
  const { repeated, told } = open();
  const held = Array.from({ length: 300 }, () => repeated.holds('alert', 'no memory'));
  expect(held.filter((isHeld) => !isHeld)).toHaveLength(1);
  vi.advanceTimersByTime(1_000);
  expect(told).toEqual(['[alert] message repeated 299 times: "no memory"']);
  for (let i = 0; i < 50; i++) expect(repeated.holds('alert', 'no memory')).toBe(true);
  vi.advanceTimersByTime(1_000);
  expect(told).toHaveLength(2);
  expect(told[1]).toBe('[alert] message repeated 50 times: "no memory"');
});

test('a message is written again after a second without it', () => {
  const { repeated, told } = open();
  expect(repeated.holds('crit', 'no memory')).toBe(false);
  vi.advanceTimersByTime(1_000);
  expect(repeated.holds('crit', 'no memory')).toBe(false);
  vi.advanceTimersByTime(1_000);
  expect(told).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test.each(['debug', 'info', 'notice', 'warn', 'emerg'] as const)(
  'each line of level %s is written',
  (level) => {
    const { repeated } = open();
    for (let i = 0; i < 3; i++) expect(repeated.holds(level, 'the same')).toBe(false);
  },
);

test('lines of level error are counted where they are about no request', () => {
  const { repeated, told } = open();
  const of = (context?: { client: string }) => [1, 2].map(() => repeated.holds('error', 'refused', context));
  expect([...of(), ...of({ client: '127.0.0.1' })]).toEqual([false, true, false, false]);
  repeated.close();
  expect(told).toEqual(['[error] message repeated 1 times: "refused"']);
});

test('other messages and levels are counted for themselves', () => {
  const { repeated, told } = open();
  for (const message of ['one', 'two', 'one', 'two', 'two']) repeated.holds('alert', message);
  repeated.holds('crit', 'one');
  repeated.close();
  expect(told).toEqual([
    '[alert] message repeated 1 times: "one"',
    '[alert] message repeated 2 times: "two"',
  ]);
});

test('messages that all differ are written, and take no memory beyond a bound', () => {
  const { repeated, told } = open();
  for (let i = 0; i < 10_000; i++) expect(repeated.holds('alert', `message ${i}`)).toBe(false);
  expect(repeated.holds('alert', 'message 9999')).toBe(false);
  repeated.close();
  expect(told).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
