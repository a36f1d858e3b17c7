import { expect, test } from 'vitest';
import { BackOff } from '../../src/master/back-off.ts';

const RULES = { firstMs: 200, maxMs: 1_000, steadyMs: 10_000 };

test('the first end causes no pause, and each that follows soon doubles the pause, up to a limit', () => {
  const backOff = new BackOff(RULES);
  expect([50, 50, 50, 50, 50, 50].map((ranMs) => backOff.after(ranMs))).toEqual([
    0, 200, 400, 800, 1_000, 1_000,
  ]);
});

test('a process that ran long enough is restarted at once', () => {
  const backOff = new BackOff(RULES);
  expect([50, 50, 50, 10_000, 50].map((ranMs) => backOff.after(ranMs))).toEqual([0, 200, 400, 0, 200]);
});
