import { describe, expect, test } from 'vitest';
import {
  afterFailure,
  type Attempts,
  Haste,
  isPollDue,
  isUrgent,
  NO_ATTEMPTS,
  nextOrderMs,
  postponePoll,
  rememberWindow,
  renewalMs,
  type RenewalWindow,
} from '../../../src/acme/custodian/schedule.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = Date.parse('2026-11-29T12:00:00Z');

/** In the middle of the spread. */
const MIDDLE = '7F:FF:FF:FF:00';
const certificate = (
  days: number,
  fingerprint = MIDDLE,
): { notBeforeMs: number; notAfterMs: number; fingerprint: string } => ({
  notBeforeMs: NOW,
  notAfterMs: NOW + days * DAY,
  fingerprint,
});

describe('a certificate is renewed', () => {
  const cases = [
    { it: 'when two thirds of its life are over', of: certificate(90), afterDays: 60 },
    { it: 'when half of a life below ten days is over', of: certificate(6), afterDays: 3 },
    { it: 'two hundredths of its life earlier at most', of: certificate(90, '00000000'), afterDays: 58.2 },
    { it: 'two hundredths of its life later at most', of: certificate(90, 'FF:FF:FF:FF'), afterDays: 61.8 },
    { it: 'in the middle if its fingerprint is unknown', of: certificate(90, ''), afterDays: 60 },
    {
      it: 'as long before its end as the operator wants',
      of: certificate(90),
      renewBefore: 20,
      afterDays: 70,
    },
    { it: 'not before half of its life is over', of: certificate(90), renewBefore: 100, afterDays: 45 },
    { it: 'at the time in the window of the authority', of: certificate(90), window: 33, afterDays: 33 },
    { it: 'before its end, whatever the authority says', of: certificate(90), window: 99, afterDays: 85.5 },
    {
      it: 'as the operator wants, whatever the authority says',
      of: certificate(90),
      renewBefore: 20,
      window: 33,
      afterDays: 70,
    },
  ];
  for (const { it, of, renewBefore, window, afterDays } of cases)
    test(it, () => {
      const chosen = window === undefined ? undefined : { startMs: 0, endMs: 1, atMs: NOW + window * DAY };
      const renewBeforeMs = renewBefore === undefined ? undefined : renewBefore * DAY;
      const atMs = renewalMs(of, { renewBeforeMs, window: chosen });
      expect((atMs - NOW) / DAY).toBeCloseTo(afterDays, 4);
    });
});

const failed1 = (failures: number, more: Partial<Attempts> = {}): Attempts => ({
  ...NO_ATTEMPTS,
  failures,
  failedMs: NOW,
  fault: 'x',
  ...more,
});
const cases1 = [
  { it: 'at once without a certificate', attempts: NO_ATTEMPTS, renews: undefined, atMs: 0 },
  { it: 'at the time of renewal', attempts: NO_ATTEMPTS, renews: NOW + DAY, atMs: NOW + DAY },
  {
    it: 'at once if an operator wants it',
    attempts: { ...NO_ATTEMPTS, isWanted: true },
    renews: NOW + DAY,
    atMs: 0,
  },
  { it: '1 minute after the first failure', attempts: failed1(1), renews: undefined, atMs: NOW + MINUTE },
  {
    it: '10 minutes after the second failure',
    attempts: failed1(2),
    renews: undefined,
    atMs: NOW + 10 * MINUTE,
  },
  {
    it: '100 minutes after the third failure',
    attempts: failed1(3),
    renews: undefined,
    atMs: NOW + 100 * MINUTE,
  },
  { it: 'a day after the fourth failure', attempts: failed1(4), renews: undefined, atMs: NOW + DAY },
  { it: 'a day after the hundredth failure', attempts: failed1(100), renews: undefined, atMs: NOW + DAY },
  {
    it: 'when the authority allows it',
    attempts: failed1(1, { waitMs: 3 * HOUR }),
    renews: undefined,
    atMs: NOW + 3 * HOUR,
  },
  {
    it: 'not before its own pause is over',
    attempts: failed1(2, { waitMs: SECOND }),
    renews: undefined,
    atMs: NOW + 10 * MINUTE,
  },
  {
    it: 'a day later at most',
    attempts: failed1(1, { waitMs: 400 * DAY }),
    renews: undefined,
    atMs: NOW + DAY,
  },
  {
    it: 'at the time of renewal if that is later',
    attempts: failed1(1),
    renews: NOW + DAY,
    atMs: NOW + DAY,
  },
  {
    it: 'soon when the clock was set back since the failure',
    attempts: failed1(1, { failedMs: NOW + 900 * DAY }),
    renews: undefined,
    atMs: NOW + MINUTE,
  },
];

describe('the next order is due', () => {
  for (const { it, attempts, renews, atMs } of cases1)
    test(it, () => expect(nextOrderMs(attempts, renews, NOW)).toBe(atMs));

  test('is counted on by each failure', () => {
    const once = afterFailure(NO_ATTEMPTS, { fault: 'a', waitMs: 5, nowMs: NOW });
    const twice = afterFailure(once, { fault: 'b', nowMs: NOW + MINUTE });
    expect(once).toEqual({ failures: 1, failedMs: NOW, waitMs: 5, fault: 'a', isWanted: false });
    expect(twice).toEqual({ failures: 2, failedMs: NOW + MINUTE, waitMs: 0, fault: 'b', isWanted: false });
  });
});

const told = { certificate: 'a.b', startMs: NOW, endMs: NOW + 10 * HOUR };
const known: RenewalWindow = rememberWindow(undefined, told, { nowMs: NOW, random: 0.25 });
const cases2 = [
  { it: 'has a time that is chosen at random', told, atMs: NOW + 2.5 * HOUR },
  {
    it: 'keeps its time while it stays the same',
    before: known,
    told,
    random: 0.9,
    atMs: NOW + 2.5 * HOUR,
  },
  {
    it: 'gets another time when it changes',
    before: known,
    told: { ...told, endMs: NOW + 20 * HOUR },
    random: 0.5,
    atMs: NOW + 10 * HOUR,
  },
  {
    it: 'of another certificate does not count',
    before: known,
    told: { ...told, certificate: 'c.d' },
    random: 0.5,
    atMs: NOW + 5 * HOUR,
  },
  { it: 'that ends before it begins is none', told: { ...told, endMs: NOW - 1 }, atMs: undefined },
  { it: 'that is no time is none', told: { ...told, endMs: NaN }, atMs: undefined },
];
const polls2 = [
  { it: 'six hours later', wait: undefined, afterMs: 6 * HOUR },
  { it: 'when the authority says', wait: 2 * HOUR, afterMs: 2 * HOUR },
  { it: 'a minute later at the earliest', wait: 0, afterMs: MINUTE },
  { it: 'a day later at the latest', wait: 9 * DAY, afterMs: DAY },
];
const due2 = [
  { it: 'that is unknown is asked for', window: undefined, isDue: true },
  {
    it: 'of another certificate is asked for',
    window: { certificate: 'x', nextPollMs: NOW + 1 },
    isDue: true,
  },
  { it: 'is asked for when it is time', window: { certificate: 'a.b', nextPollMs: NOW }, isDue: true },
  { it: 'is not asked for before', window: { certificate: 'a.b', nextPollMs: NOW + 1 }, isDue: false },
  {
    it: 'is asked for when the clock was set back',
    window: { certificate: 'a.b', nextPollMs: NOW + 2 * DAY },
    isDue: true,
  },
];

describe('a renewal window', () => {
  for (const { it, before, told: now, random = 0.25, atMs } of cases2)
    test(it, () => expect(rememberWindow(before, now, { nowMs: NOW, random }).chosen?.atMs).toBe(atMs));

  for (const { it, wait, afterMs } of polls2)
    test(`is asked for again ${it}`, () => {
      const answered = rememberWindow(undefined, { ...told, retryAfterMs: wait }, { nowMs: NOW, random: 0 });
      const unanswered = postponePoll(known, { certificate: 'a.b', nowMs: NOW, waitMs: wait });
      expect(answered.nextPollMs).toBe(NOW + afterMs);
      expect(unanswered).toEqual({ ...known, nextPollMs: NOW + afterMs });
    });

  for (const { it, window, isDue } of due2) test(it, () => expect(isPollDue(window, 'a.b', NOW)).toBe(isDue));
});

const urgent = [
  { it: 'nothing serves', notAfterMs: undefined, is: true },
  { it: 'what serves has ended', notAfterMs: NOW - 1, is: true },
  { it: 'less than a week is left', notAfterMs: NOW + 7 * DAY - 1, is: true },
  { it: 'a week is left', notAfterMs: NOW + 7 * DAY, is: false },
];
for (const { it, notAfterMs, is } of urgent)
  test(`what goes wrong is ${is ? 'an error' : 'a warning'} if ${it}`, () => {
    expect(isUrgent(notAfterMs, NOW)).toBe(is);
  });

describe('certificates that are due again as soon as they are there', () => {
  /** The pauses before the next ones, each of which comes when it may. */
  const pausesOf = (lifeMs: number, count: number): readonly number[] => {
    const haste = new Haste();
    let nowMs = NOW;
    return Array.from({ length: count }, () => {
      const taken = { notBeforeMs: nowMs, notAfterMs: nowMs + lifeMs, fingerprint: MIDDLE };
      haste.took(taken, nowMs);
      const nextMs = Math.max(nowMs, haste.notBeforeMs(taken, nowMs));
      const pauseMs = nextMs - nowMs;
      nowMs = nextMs;
      return pauseMs;
    });
  };
  test('follow after the pauses of failures, but for the first', () => {
    expect(pausesOf(90 * DAY, 6)).toEqual([0, MINUTE, 10 * MINUTE, 100 * MINUTE, DAY, 0]);
  });
  test('follow before the former one ends', () => {
    expect(pausesOf(10 * MINUTE, 4)).toEqual([0, MINUTE, 5 * MINUTE, 0]);
  });
  test('are not held back by a clock that was set back, nor if they come when they should', () => {
    const haste = new Haste();
    for (const at of [NOW, NOW + SECOND]) haste.took(certificate(90), at);
    expect(haste.notBeforeMs(certificate(90), NOW - 90 * DAY)).toBe(NOW - 90 * DAY + MINUTE);
    haste.took(certificate(90), NOW + 60 * DAY);
    expect(haste.notBeforeMs(certificate(90), NOW + 60 * DAY)).toBe(0);
  });
});
