import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseRanges } from '../../src/http/ranges.ts';

const rules = { sizeBytes: 100, maxRanges: 3 };

const cases = [
  { header: 'bytes=0-9', is: [{ from: 0, to: 10 }] },
  { header: 'bytes=90-', is: [{ from: 90, to: 100 }] },
  { header: 'bytes=-10', is: [{ from: 90, to: 100 }] },
  { header: 'bytes=-1000', is: [{ from: 0, to: 100 }] },
  { header: 'bytes=50-9223372036854775807', is: [{ from: 50, to: 100 }] },
  {
    header: 'bytes=1-1,3-3,5-5',
    is: [
      { from: 1, to: 2 },
      { from: 3, to: 4 },
      { from: 5, to: 6 },
    ],
  },
  { header: 'bytes=1-1,3-3,5-5,7-7', is: 'whole' },
  { header: 'bytes=0-99,0-0', is: 'whole' },
  { header: 'bytes=0-9,200-300', is: [{ from: 0, to: 10 }] },
  { header: 'bytes=100-', is: 'unsatisfiable' },
  { header: 'bytes=9-3', is: 'unsatisfiable' },
  { header: 'bytes=-0', is: 'unsatisfiable' },
  { header: 'bytes=--1', is: 'unsatisfiable' },
  { header: 'bytes=1-2-3', is: 'unsatisfiable' },
  { header: 'bytes=18446744073709551616-', is: 'unsatisfiable' },
  { header: 'bytes=1-2,', is: 'unsatisfiable' },
  { header: 'bytes=,1-2', is: 'unsatisfiable' },
  { header: 'items=0-9', is: 'whole' },
  { header: 'bytes=', is: 'whole' },
  { header: '', is: 'whole' },
];

for (const { header, is } of cases) {
  test(`"${header}" of 100 bytes asks for ${JSON.stringify(is)}`, () => {
    expect(parseRanges(header, rules)).toEqual(is);
  });
}

test('no range sends bytes outside of the file, or more bytes than it has', () => {
  const spec = fc.stringMatching(/^[0-9 ,-]{0,20}$/);
  fc.assert(
    fc.property(spec, fc.nat(200), fc.nat(5), (text, sizeBytes, maxRanges) => {
      const ranges = parseRanges(`bytes=${text}`, { sizeBytes, maxRanges });
      if (typeof ranges === 'string') return;
      expect(ranges.length).toBeGreaterThan(0);
      expect(ranges.length).toBeLessThanOrEqual(maxRanges);
      for (const { from, to } of ranges) expect(0 <= from && from < to && to <= sizeBytes).toBe(true);
      expect(ranges.reduce((sum, { from, to }) => sum + to - from, 0)).toBeLessThanOrEqual(sizeBytes);
    }),
  );
});
