import { expect, test } from 'vitest';
import { dictionaryOf, refusal } from './dictionary-of.ts';

const values = [
  '',
  'text',
  'größe 😀',
  'a\0b\r\nc',
  'x'.repeat(81),
  'x'.repeat(2000),
  0,
  -0,
  1.5,
  -1e300,
  Number.MAX_SAFE_INTEGER,
  Infinity,
  NaN,
  true,
  false,
];
for (const value of values) {
  test(`the ${typeof value} ${JSON.stringify(value).slice(0, 20)} is read back unchanged`, () => {
    const { dictionary } = dictionaryOf();
    dictionary.set('key', value);
    expect(dictionary.get('key')).toBe(value);
    expect(dictionary.list()).toEqual([{ key: 'key', value, ttlMs: 0 }]);
  });
}

for (const key of ['k', 'schlüssel', '__proto__', 'a b\n', 'k'.repeat(80), 'k'.repeat(1000)]) {
  test(`a value can have a key of ${Buffer.byteLength(key)} bytes, ${JSON.stringify(key.slice(0, 9))}`, () => {
    const { dictionary } = dictionaryOf();
    dictionary.set(key, 'v'.repeat(500));
    expect(dictionary.get(key)).toBe('v'.repeat(500));
    expect(dictionary.get(`${key}x`)).toBeUndefined();
    expect(dictionary.keys()).toEqual([key]);
  });
}

for (const key of ['', 'k'.repeat(65_536)]) {
  test(`no value can have a key of ${key.length} bytes`, () => {
    const { dictionary } = dictionaryOf({}, 1 << 20);
    expect(refusal(() => dictionary.set(key, 1))).toBe('bad key');
    expect(refusal(() => dictionary.get(key))).toBe('bad key');
    expect(dictionary.facts().entries).toBe(0);
  });
}

test('a value of another type or length takes the place of the old one', () => {
  const { dictionary } = dictionaryOf();
  for (const value of ['short', 'x'.repeat(1500), 7, true, '', 'x'.repeat(200)]) {
    dictionary.set('key', value);
    expect(dictionary.get('key')).toBe(value);
  }
  expect(dictionary.facts()).toMatchObject({ entries: 1, freeBytes: 29 * 128 - 3 * 128 });
});

test('add writes only new entries, replace only existing ones, and delete tells whether there was one', () => {
  const { dictionary } = dictionaryOf();
  expect(dictionary.replace('a', 1)).toBe(false);
  expect(dictionary.add('a', 1)).toBe(true);
  expect(dictionary.add('a', 2)).toBe(false);
  expect(dictionary.get('a')).toBe(1);
  expect(dictionary.replace('a', 3)).toBe(true);
  expect(dictionary.get('a')).toBe(3);
  expect(dictionary.delete('a')).toBe(true);
  expect(dictionary.delete('a')).toBe(false);
  expect(dictionary.get('a')).toBeUndefined();
});

test('incr begins at the given value, adds, and refuses values that are not numbers', () => {
  const { dictionary } = dictionaryOf();
  expect(dictionary.incr('n', 5)).toBeUndefined();
  expect(dictionary.incr('n', 5, { init: 10 })).toBe(15);
  expect(dictionary.incr('n', -0.5, { init: 10 })).toBe(14.5);
  dictionary.set('s', '1');
  expect(refusal(() => dictionary.incr('s', 1))).toBe('not a number');
  expect(dictionary.get('s')).toBe('1');
});
