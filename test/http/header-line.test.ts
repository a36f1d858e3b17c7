import { expect, test } from 'vitest';
import { hasForbiddenBytes, isSafeHeaderName, isSafeHeaderValue } from '../../src/http/head.ts';

const controls = [...Array(0x20).keys(), 0x7f].filter((byte) => byte !== 0x09);

test.each(controls)('byte %i is refused in header names and values', (byte) => {
  const text = `a${String.fromCharCode(byte)}b`;
  expect(isSafeHeaderName(text)).toBe(false);
  expect(isSafeHeaderValue(text)).toBe(false);
  expect(hasForbiddenBytes(text)).toBe(true);
});

test.each(['', 'text/plain; q="1"', 'a\tb', 'é €', '\x80\xff'])('the value %j is safe', (value) => {
  expect(isSafeHeaderValue(value)).toBe(true);
  expect(hasForbiddenBytes(value)).toBe(false);
});

test.each([
  ['X-Request-Id', true],
  ["!#$%&'*+.^_`|~", true],
  ['', false],
  ['a b', false],
  ['a:', false],
  ['a\t', false],
  ['é', false],
  ['(a)', false],
])('the header name %j is safe: %j', (name, safe) => {
  expect(isSafeHeaderName(name)).toBe(safe);
});
