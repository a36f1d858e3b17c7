import { expect, test } from 'vitest';
import { escapeDefault, escapeJson } from '../../src/log/log-text.ts';

test.each([
  ['plain text ~ !', 'plain text ~ !'],
  ['', ''],
  ['a"b\\c', 'a\\x22b\\x5Cc'],
  ['a\r\nb\t', 'a\\x0D\\x0Ab\\x09'],
  ['\x7f\x00\x1b[31m', '\\x7F\\x00\\x1B[31m'],
  ['é€😀', '\\xC3\\xA9\\xE2\\x82\\xAC\\xF0\\x9F\\x98\\x80'],
])('the value %j is logged as %s by default', (value, escaped) => {
  expect(escapeDefault(value)).toBe(escaped);
});

test.each([
  ['plain é', 'plain é'],
  ['a"b\\c/', 'a\\"b\\\\c/'],
  ['\n\r\t\b\f', '\\n\\r\\t\\b\\f'],
  ['\x00\x1f\x7f', '\\u0000\\u001F\x7f'],
])('the value %j is logged as %s in JSON', (value, escaped) => {
  expect(escapeJson(value)).toBe(escaped);
  expect(JSON.parse(`"${escapeJson(value)}"`)).toBe(value);
});
