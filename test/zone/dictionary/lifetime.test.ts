import { expect, test } from 'vitest';
import { dictionaryOf } from './dictionary-of.ts';

const lives = [
  { it: 'its own', options: {}, ttlMs: 500, endsAfterMs: 500 },
  { it: "the dictionary's", options: { timeoutMs: 700 }, ttlMs: undefined, endsAfterMs: 700 },
  { it: "its own before the dictionary's", options: { timeoutMs: 700 }, ttlMs: 900, endsAfterMs: 900 },
  { it: 'none', options: {}, ttlMs: undefined, endsAfterMs: Infinity },
  { it: "none in spite of the dictionary's", options: { timeoutMs: 700 }, ttlMs: 0, endsAfterMs: Infinity },
];
for (const { it, options, ttlMs, endsAfterMs } of lives) {
  test(`an entry has ${it}: ${endsAfterMs} ms`, () => {
    const { dictionary, clock } = dictionaryOf(options);
    dictionary.set('k', 'v', ttlMs);
    clock.ms += Math.min(endsAfterMs, 1e12) - 1;
    expect(dictionary.get('k')).toBe('v');
    expect(dictionary.entry('k')?.ttlMs).toBe(endsAfterMs === Infinity ? 0 : 1);
    clock.ms += 1;
    expect(dictionary.get('k')).toBe(endsAfterMs === Infinity ? 'v' : undefined);
    expect(dictionary.add('k', 'new')).toBe(endsAfterMs !== Infinity);
  });
}

test('incr keeps the lifetime, a new write replaces it', () => {
  const { dictionary, clock } = dictionaryOf();
  dictionary.set('n', 1, 100);
  clock.ms += 60;
  dictionary.incr('n', 1, { init: 0, ttlMs: 1000 });
  expect(dictionary.entry('n')).toEqual({ key: 'n', value: 2, ttlMs: 40 });
  dictionary.set('n', 1, 100);
  expect(dictionary.entry('n')?.ttlMs).toBe(100);
  clock.ms += 100;
  expect(dictionary.incr('n', 1)).toBeUndefined();
  expect(dictionary.incr('n', 1, { init: 0, ttlMs: 1000 })).toBe(1);
  expect(dictionary.entry('n')?.ttlMs).toBe(1000);
});

test('lists leave out expired entries', () => {
  const { dictionary, clock } = dictionaryOf();
  dictionary.set('short', 1, 10);
  dictionary.set('long', 1, 20);
  clock.ms += 10;
  expect(dictionary.keys()).toEqual(['long']);
  expect(dictionary.list()).toEqual([{ key: 'long', value: 1, ttlMs: 10 }]);
});
