import { expect, test } from 'vitest';
import { validatorsOf } from '../../src/http/conditions.ts';
import { parseHttpDate } from '../../src/http/dates.ts';

const MOMENT = 784_111_777;

const cases = [
  ['Sun, 06 Nov 1994 08:49:37 GMT', MOMENT],
  ['Sunday, 06-Nov-94 08:49:37 GMT', MOMENT],
  ['Sun Nov  6 08:49:37 1994', MOMENT],
  ['Sun Nov 06 08:49:37 1994', MOMENT],
  ['Sun, 06 Nov 1994 08:49:37', MOMENT],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['Thursday, 29-Feb-24 12:34:56 GMT', 1_709_210_096],
  ['Thu, 29 Feb 2024 12:34:56 +0200', 1_709_210_096],
  ['Thu, 29 Feb 2023 12:34:56 GMT', undefined],
  ['Sun, 31 Apr 1994 08:49:37 GMT', undefined],
  ['Sun, 00 Nov 1994 08:49:37 GMT', undefined],
  ['Sun, 06 Nov 1994 24:00:00 GMT', undefined],
  ['Sun, 06 Nov 1994 08:60:00 GMT', undefined],
  ['Sun, 06 Nov 1994 08:49:60 GMT', undefined],
  ['Sun, 06 Xxx 1994 08:49:37 GMT', undefined],
  ['1994-11-06T08:49:37Z', undefined],
  ['', undefined],
] as const;

for (const [text, seconds] of cases) {
  test(`"${text}" is ${seconds === undefined ? 'no date' : `second ${seconds}`}`, () => {
    expect(parseHttpDate(text)).toBe(seconds);
  });
}

test('a written date reads as the same moment', () => {
  for (let seconds = 0; seconds < 3_000_000_000; seconds += 999_983) {
    expect(parseHttpDate(validatorsOf(seconds, 0).lastModified)).toBe(seconds);
  }
});
