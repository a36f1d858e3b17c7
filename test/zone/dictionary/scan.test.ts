import { expect, test } from 'vitest';
import { dictionaryOf } from './dictionary-of.ts';

test('a scan shows every entry once, in several parts', () => {
  const { dictionary } = dictionaryOf({}, 1 << 20);
  const keys = Array.from({ length: 5_000 }, (_, n) => `key ${n}`);
  for (const key of keys) dictionary.set(key, key.length);
  const found: string[] = [];
  let parts = 0;
  for (let cursor: number | undefined = 0; cursor !== undefined; parts++) {
    const part = dictionary.scan(cursor);
    for (const { key, value } of part.entries) if (value === key.length) found.push(key);
    cursor = part.next;
  }
  expect(parts).toBe(32);
  expect(found.toSorted()).toEqual(keys.toSorted());
});

test('a scan shows all lasting entries, whatever is added and removed between its parts', () => {
  const { dictionary } = dictionaryOf({ evict: true }, 1 << 20);
  for (let n = 0; n < 1_000; n++) dictionary.set(`stays ${n}`, n);
  const found: string[] = [];
  let round = 0;
  for (let cursor: number | undefined = 0; cursor !== undefined; round++) {
    const part = dictionary.scan(cursor);
    found.push(...part.entries.map(({ key }) => key).filter((key) => key.startsWith('stays')));
    cursor = part.next;
    for (let n = 0; n < 100; n++) dictionary.set(`comes ${round} ${n}`, 'x'.repeat(n));
    for (let n = 0; n < 50; n++) dictionary.delete(`comes ${round} ${n}`);
    for (let n = 0; n < 1_000; n++) dictionary.set(`stays ${n}`, n);
  }
  expect(found).toHaveLength(1_000);
  expect(new Set(found).size).toBe(1_000);
});
