import { expect, test } from 'vitest';
import { acceptedMedia, parsePreferences } from '../../../src/modules/dbrest/request/index.ts';

const LENGTH = 65_536;
/** Linear time takes a few milliseconds; quadratic time would take seconds. */
const CPU_MS = 250;

const cases = [
  { it: 'Accept with unclosed quotes', read: acceptedMedia, repeated: '\\"' },
  { it: 'Accept with blanks', read: acceptedMedia, before: 'a;b', repeated: ' ', after: 'c' },
  {
    it: 'Accept with blanks in a plan',
    read: acceptedMedia,
    before: 'application/vnd.pgrst.plan;for="a',
    repeated: ' ',
    after: '"',
  },
  { it: 'Prefer with blanks', read: parsePreferences, before: 'a', repeated: ' ', after: 'b' },
];

test.each(cases)('reading $it takes linear time', ({ read, before = '', repeated, after = '' }) => {
  const text = before + repeated.repeat(LENGTH / repeated.length) + after;
  const start = process.cpuUsage();
  expect(() => read(text)).not.toThrow();
  expect(process.cpuUsage(start).user / 1_000).toBeLessThan(CPU_MS);
});
