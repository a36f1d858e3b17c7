import { expect, test } from 'vitest';
import { isSafeHeaderName, isSafeHeaderValue, withoutBlanks } from '../../src/http1/index.ts';

const controls = [...Array(0x20).keys(), 0x7f].filter((byte) => byte !== 0x09);

test.each(controls)('byte %i is refused in header names and values', (byte) => {
  const text = `a${String.fromCharCode(byte)}b`;
  expect(isSafeHeaderName(text)).toBe(false);
  expect(isSafeHeaderValue(text)).toBe(false);
});

test.each(['', 'text/plain; q="1"', 'a\tb', 'é €', '\x80\xff'])('the value %j is safe', (value) => {
  expect(isSafeHeaderValue(value)).toBe(true);
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

test('only blanks and tabs are stripped from a value', () => {
  for (let byte = 0; byte < 256; byte++) {
    const character = String.fromCharCode(byte);
    const value = `${character}a${character}`;
    expect(withoutBlanks(` \t${value}\t `), String(byte)).toBe(byte === 32 || byte === 9 ? 'a' : value);
  }
});
