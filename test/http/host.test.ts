import { expect, test } from 'vitest';
import { parseHost } from '../../src/http/uri.ts';

const longest = Array(128).fill('a').join('.'); // 255 characters

test.each([
  ['example.com', 'example.com'],
  ['Example.COM', 'example.com'],
  ['example.com:8080', 'example.com'],
  ['example.com.', 'example.com'],
  ['Example.com.:80', 'example.com'],
  ['example.com:', 'example.com'],
  ['a:65535', 'a'],
  ['my_service-1', 'my_service-1'],
  ['127.0.0.1:80', '127.0.0.1'],
  ['[::1]', '[::1]'],
  ['[2001:DB8::A]:443', '[2001:db8::a]'],
  ['[::ffff:1.2.3.4]', '[::ffff:1.2.3.4]'],
  [longest, longest],
  [`${longest}:8080`, longest],
])('the host %j is %j', (value, name) => {
  expect(parseHost(value)).toBe(name);
});

test.each([
  '',
  ' ',
  '.',
  ':80',
  'a..b',
  '.a',
  'a..',
  // `toLowerCase` makes a k of the Kelvin sign.
  '\u212A',
  'a\u212A.b:80',
  'a,b',
  'a, b',
  'a b',
  ' a',
  'a\t',
  'user@a',
  'user:pass@a',
  'a/b',
  'http://a',
  'a\\b',
  'a?b',
  'a#b',
  'a:b',
  'a:80x',
  'a:-1',
  'a:65536',
  'a:000080',
  'a:80:80',
  'a\0',
  'a\x7f',
  'é.com',
  '%61',
  '::1',
  '[::1',
  '[::1]x',
  '[::1]:x',
  '[]',
  '[a]',
  '[fe80::1%eth0]',
  '[1.2.3.4]',
  `${longest}c`,
])('the host %j is refused', (value) => {
  expect(parseHost(value)).toBeUndefined();
});
