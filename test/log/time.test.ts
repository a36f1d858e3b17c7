import { afterEach, beforeEach, expect, test } from 'vitest';
import { dateGmt, dateLocal, errorLogTime, timeIso8601, timeLocal } from '../../src/log/time.ts';

const zone = process.env['TZ'];
afterEach(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});
beforeEach(() => {
  // A different second from the previous test's: the texts are kept for a second.
  timeLocal(0);
  timeIso8601(0);
  errorLogTime(0);
  dateLocal(0);
  dateGmt(0);
});

const at = Date.UTC(2026, 10, 20, 16, 4, 9, 999);

const zones: readonly [zone: string, texts: readonly string[]][] = [
  ['UTC', ['20/Nov/2026:16:04:09 +0000', '2026-11-20T16:04:09+00:00', '2026/11/20 16:04:09']],
  ['America/New_York', ['20/Nov/2026:11:04:09 -0500', '2026-11-20T11:04:09-05:00', '2026/11/20 11:04:09']],
  ['Asia/Kolkata', ['20/Nov/2026:21:34:09 +0530', '2026-11-20T21:34:09+05:30', '2026/11/20 21:34:09']],
  ['America/St_Johns', ['20/Nov/2026:12:34:09 -0330', '2026-11-20T12:34:09-03:30', '2026/11/20 12:34:09']],
];

test.each(zones)('times in the zone %s are local, as in nginx', (name, texts) => {
  process.env['TZ'] = name;
  expect([timeLocal(at), timeIso8601(at), errorLogTime(at)]).toEqual(texts);
});

const dates: readonly [zone: string, local: string][] = [
  ['UTC', 'Friday, 20-Nov-2026 16:04:09 UTC'],
  ['America/New_York', 'Friday, 20-Nov-2026 11:04:09 EST'],
  ['Pacific/Auckland', 'Saturday, 21-Nov-2026 05:04:09 GMT+13'],
];

test.each(dates)('dates in the zone %s are in words, as in nginx', (name, local) => {
  process.env['TZ'] = name;
  expect([dateLocal(at), dateGmt(at)]).toEqual([local, 'Friday, 20-Nov-2026 16:04:09 GMT']);
});

test('a new second gives a new text, forwards and backwards', () => {
  process.env['TZ'] = 'UTC';
  expect(timeLocal(at + 1)).toBe('20/Nov/2026:16:04:10 +0000');
  expect(timeLocal(at)).toBe('20/Nov/2026:16:04:09 +0000');
});
