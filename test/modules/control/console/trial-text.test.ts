import { expect, test } from 'vitest';
import { readClaims, readHeaderLines } from '../../../../src/modules/control/console/page/trial-text.ts';

test('headers are read one per line', () => {
  expect(readHeaderLines('Prefer: return=minimal\n\n  X-A:b: c \n')).toEqual([
    ['Prefer', 'return=minimal'],
    ['X-A', 'b: c'],
  ]);
  expect(readHeaderLines('')).toEqual([]);
  expect(() => readHeaderLines('no header')).toThrow('"no header" is no header');
});

test('claims are a JSON object or nothing', () => {
  expect(readClaims(' ')).toEqual({});
  expect(readClaims('{"sub":"ann"}')).toEqual({ sub: 'ann' });
  for (const text of ['[]', 'null', '1']) expect(() => readClaims(text)).toThrow('must be a JSON object');
  expect(() => readClaims('{')).toThrow('not valid JSON');
});
