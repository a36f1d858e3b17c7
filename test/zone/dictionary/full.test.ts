import { expect, test } from 'vitest';
import { dictionaryOf, fill, refusal } from './dictionary-of.ts';

test('a full dictionary refuses a write and stays as it was', () => {
  const { dictionary } = dictionaryOf();
  fill(dictionary);
  expect(dictionary.facts()).toEqual({
    entries: 29,
    freeBytes: 0,
    capacityBytes: 29 * 128,
    evicted: 0,
  });
  for (const write of [
    () => dictionary.set('new', 1),
    () => dictionary.add('new', 1),
    () => dictionary.incr('new', 1, { init: 0 }),
    () => dictionary.set('k0', 'x'.repeat(100)),
  ]) {
    expect(refusal(write)).toBe('no memory');
  }
  expect(dictionary.get('k0')).toBe(0);
  expect(dictionary.facts().entries).toBe(29);
});

test('a full dictionary still changes existing entries within their room', () => {
  const { dictionary } = dictionaryOf();
  fill(dictionary);
  dictionary.set('k3', 'as long as fits');
  expect(dictionary.incr('k4', 1)).toBe(5);
  expect(dictionary.get('k3')).toBe('as long as fits');
});

test('a full dictionary reuses the room of expired entries', () => {
  const { dictionary, clock } = dictionaryOf();
  fill(dictionary, 100);
  dictionary.set('k7', 'stays', 0);
  clock.ms += 100;
  dictionary.set('new', 1);
  expect(dictionary.keys()).toEqual(['new', 'k7']);
});

test('a full dictionary refuses entries that never fit at once, with or without evict', () => {
  for (const evict of [false, true]) {
    const { dictionary } = dictionaryOf({ evict });
    dictionary.set('k', 1);
    expect(refusal(() => dictionary.set('big', 'x'.repeat(4096)))).toBe('no memory');
    expect(dictionary.keys()).toEqual(['k']);
  }
});

test('a full dictionary with evict drops the entry that was not used for the longest time', () => {
  const { dictionary } = dictionaryOf({ evict: true });
  fill(dictionary);
  dictionary.get('k0');
  dictionary.incr('k1', 1);
  dictionary.entry('k2');
  dictionary.set('new', 'x'.repeat(280));
  expect(dictionary.keys(5)).toEqual(['new', 'k2', 'k1', 'k0', 'k28']);
  expect(dictionary.facts()).toMatchObject({ entries: 27, evicted: 3 });
  expect(dictionary.get('k3')).toBeUndefined();
});

test('a full dictionary with evict never drops the entry that it is about to replace', () => {
  const { dictionary } = dictionaryOf({ evict: true });
  fill(dictionary);
  dictionary.set('k0', 'x'.repeat(280));
  expect(dictionary.get('k0')).toBe('x'.repeat(280));
  expect(dictionary.facts()).toMatchObject({ entries: 27, evicted: 2 });
});
