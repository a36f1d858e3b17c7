import { expect, test } from 'vitest';
import {
  createZone,
  type Dictionary,
  type DictionaryOptions,
  type DictionaryValue,
  type EntryState,
  openDictionary,
} from '../../../src/zone/index.ts';
import { dictionaryOf, fill, refusal, zone } from './dictionary-of.ts';

const MOST_BYTES = 1_000;

function sharedOf(options?: DictionaryOptions, sizeBytes?: number) {
  const opened = dictionaryOf(options, sizeBytes);
  opened.dictionary.shared.share(7, MOST_BYTES);
  return { ...opened, shared: opened.dictionary.shared };
}

/** The changes that wait, in short: `k=1`, `k=` for one that was deleted; behind `@` the counter that was seen, behind `~` the lifetime. */
const waitingIn = ({ shared }: Dictionary): readonly string[] =>
  shared
    .changes(100)
    .map(({ key, value, seen, ttlMs }) => `${key}=${value ?? ''}@${seen}${ttlMs === 0 ? '' : `~${ttlMs}`}`);

function confirmAll({ shared }: Dictionary): void {
  for (const change of shared.changes(1_000)) shared.settle(change);
}

const state = (key: string, value: DictionaryValue | undefined, counter: number): EntryState => ({
  key,
  value,
  ttlMs: 0,
  counter,
  isOwn: false,
});

const writes: readonly {
  readonly it: string;
  readonly write: (dictionary: Dictionary) => unknown;
  readonly waits: readonly string[];
}[] = [
  { it: 'a value that is set', write: (d) => d.set('k', 'v', 0), waits: ['n=1@3', 'k=v@3'] },
  { it: 'a lifetime', write: (d) => d.set('k', true, 500), waits: ['n=1@3', 'k=true@3~500'] },
  { it: 'a value that is set anew, once', write: (d) => d.set('n', 2), waits: ['n=2@3'] },
  { it: 'a value that is added', write: (d) => d.add('k', 0), waits: ['n=1@3', 'k=0@3'] },
  { it: 'none that is not added', write: (d) => d.add('n', 5), waits: ['n=1@3'] },
  { it: 'a value that is replaced', write: (d) => d.replace('n', 'x'), waits: ['n=x@3'] },
  { it: 'a sum', write: (d) => d.incr('n', 2), waits: ['n=3@3'] },
  { it: 'a sum that begins', write: (d) => d.incr('k', 2, { init: 1 }), waits: ['n=1@3', 'k=3@3'] },
  { it: 'a deletion', write: (d) => d.delete('n'), waits: ['n=@3'] },
  { it: 'no deletion of nothing', write: (d) => d.delete('k'), waits: ['n=1@3'] },
  {
    it: 'a value after a deletion',
    write: (d) => [d.delete('n'), d.add('n', 8)],
    waits: ['n=8@3'],
  },
  {
    it: 'the last change last',
    write: (d) => [d.set('k', 1), d.incr('n', 1)],
    waits: ['k=1@3', 'n=2@3'],
  },
];
for (const { it, write, waits } of writes)
  test(`for the store waits ${it}`, () => {
    const { dictionary } = sharedOf();
    dictionary.shared.apply([], 3);
    dictionary.set('n', 1);
    write(dictionary);
    expect(waitingIn(dictionary)).toEqual(waits);
    const sequences = dictionary.shared.changes(100).map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
    confirmAll(dictionary);
    expect(waitingIn(dictionary)).toEqual([]);
  });

test('a dictionary that is not shared has no changes and keeps nothing that was deleted', () => {
  const { dictionary } = dictionaryOf();
  dictionary.set('a', 1);
  dictionary.delete('a');
  expect(waitingIn(dictionary)).toEqual([]);
  expect(dictionary.facts()).toMatchObject({ entries: 0, freeBytes: 29 * 128 });
  expect(dictionary.shared.apply([], 5)).toBeUndefined();
});

test('a deleted entry is seen by nobody, takes one block, and goes when the store knows of it', () => {
  const { dictionary, shared } = sharedOf();
  dictionary.set('k', 'x'.repeat(500));
  confirmAll(dictionary);
  expect(dictionary.delete('k')).toBe(true);
  expect([dictionary.get('k'), dictionary.keys(), dictionary.list(), dictionary.scan().entries]).toEqual([
    undefined,
    [],
    [],
    [],
  ]);
  expect([dictionary.delete('k'), dictionary.replace('k', 1), dictionary.incr('k', 1)]).toEqual([
    false,
    false,
    undefined,
  ]);
  expect(dictionary.facts()).toMatchObject({ entries: 0, freeBytes: 28 * 128 });
  const [change] = shared.changes(1);
  expect(change && shared.settle(change)).toBe(true);
  expect(dictionary.facts()).toMatchObject({ entries: 0, freeBytes: 29 * 128 });
});

test('a change that was made again meanwhile goes on waiting', () => {
  const { dictionary, shared } = sharedOf();
  dictionary.set('k', 1);
  const [first] = shared.changes(1);
  dictionary.set('k', 2);
  expect(first && shared.settle(first)).toBe(false);
  expect(waitingIn(dictionary)).toEqual(['k=2@0']);
});

test('what expires before the store has it becomes a deletion, and is kept until then', () => {
  const { dictionary, clock } = sharedOf();
  dictionary.set('k', 1, 100);
  clock.ms += 100;
  expect(dictionary.get('k')).toBeUndefined();
  for (let n = 0; n < 28; n++) dictionary.set(`k${n}`, n);
  expect(refusal(() => dictionary.set('no room', 1))).toBe('no memory');
  expect(waitingIn(dictionary)[0]).toBe('k=@0');
  confirmAll(dictionary);
  dictionary.set('room', 1);
  expect(dictionary.get('room')).toBe(1);
});

for (const evict of [false, true])
  test(`deletions that wait are never given up for room ${evict ? 'with' : 'without'} evict`, () => {
    const { dictionary } = sharedOf({ evict });
    fill(dictionary);
    for (let n = 0; n < 29; n++) dictionary.delete(`k${n}`);
    expect(refusal(() => dictionary.set('new', 1))).toBe('no memory');
    expect(waitingIn(dictionary)).toHaveLength(29);
    dictionary.set('k3', 3);
    expect(dictionary.keys()).toEqual(['k3']);
    confirmAll(dictionary);
    dictionary.set('new', 1);
    expect(dictionary.keys()).toEqual(['new', 'k3']);
  });

test('what evict has removed is not sent', () => {
  const { dictionary } = sharedOf({ evict: true });
  fill(dictionary);
  dictionary.set('new', 1);
  expect(waitingIn(dictionary)).toHaveLength(29);
  expect(waitingIn(dictionary)[0]).toBe('k1=1@0');
});

test('a shared dictionary refuses what is too large for the store, and one that is not shared takes it', () => {
  const { dictionary } = sharedOf();
  dictionary.set('key', 'x'.repeat(MOST_BYTES - 3));
  expect(refusal(() => dictionary.set('key', 'x'.repeat(MOST_BYTES - 2)))).toBe('too large');
  expect(refusal(() => dictionary.incr('k'.repeat(MOST_BYTES + 1), 1, { init: 0 }))).toBe('too large');
  dictionary.shared.unshare();
  dictionary.set('key', 'x'.repeat(MOST_BYTES));
  expect(dictionary.get('key')).toHaveLength(MOST_BYTES);
});

const applications: readonly {
  readonly it: string;
  readonly before?: (dictionary: Dictionary) => unknown;
  readonly states: readonly EntryState[];
  /** They are some of all keys. */
  readonly isPart?: true;
  readonly then: Readonly<Record<string, DictionaryValue>>;
  readonly waits?: readonly string[];
  readonly superseded?: readonly string[];
}[] = [
  {
    it: 'sets, deletes and replaces',
    states: [state('a', 'x', 11), state('s', undefined, 12)],
    then: { a: 'x' },
  },
  {
    it: 'gives up a change that has not seen a state',
    before: (d) => d.set('s', 'mine'),
    states: [state('s', 'other', 11)],
    then: { s: 'other' },
    superseded: ['s'],
  },
  {
    it: 'gives up a deletion that has not seen a state',
    before: (d) => d.delete('s'),
    states: [state('s', 'other', 11)],
    then: { s: 'other' },
    superseded: ['s'],
  },
  {
    it: 'gives up a change for a deletion',
    before: (d) => d.set('s', 'mine'),
    states: [state('s', undefined, 11)],
    then: {},
    superseded: ['s'],
  },
  {
    it: 'tells of no conflict where the values are the same',
    before: (d) => d.set('s', 'same'),
    states: [state('s', 'same', 11)],
    then: { s: 'same' },
  },
  {
    it: 'keeps a change that has seen a state',
    before: (d) => d.set('s', 'mine'),
    states: [state('s', 'other', 10)],
    then: { s: 'mine' },
    waits: ['s=mine@10'],
  },
  {
    it: 'keeps a change when an own state comes back',
    before: (d) => d.set('s', 'mine'),
    states: [{ ...state('s', 'former', 11), isOwn: true }],
    then: { s: 'mine' },
    waits: ['s=mine@10'],
  },
  {
    it: 'ignores a state that is older than what it has',
    states: [state('s', 'other', 9)],
    then: { s: 'stored' },
  },
  {
    it: 'takes any state where all keys are read',
    states: [{ ...state('s', 'other', 9), isOwn: true }],
    isPart: true,
    then: { s: 'other' },
  },
];
for (const { it, before, states, isPart, then, waits = [], superseded = [] } of applications)
  test(`a shared dictionary ${it}`, () => {
    const { dictionary, shared } = sharedOf();
    shared.apply([state('s', 'stored', 10)], 10);
    before?.(dictionary);
    expect(shared.apply(states, isPart ? undefined : 12)).toEqual({ superseded, unfit: 0 });
    expect(Object.fromEntries(dictionary.list().map(({ key, value }) => [key, value]))).toEqual(then);
    expect(waitingIn(dictionary)).toEqual(waits);
  });

test('a change has seen the stream up to the position, and the state that it replaces', () => {
  const { dictionary, shared } = sharedOf();
  shared.apply([state('later', 1, 9), state('before', 1, 2)], undefined);
  shared.apply([], 5);
  dictionary.set('later', 2);
  dictionary.incr('before', 1);
  dictionary.set('new', 2);
  expect(waitingIn(dictionary)).toEqual(['later=2@9', 'before=2@5', 'new=2@5']);
});

test('when the store has lost its last entries, their counters come again', () => {
  const { dictionary, shared } = sharedOf();
  shared.apply([state('a', 'lost', 9), state('b', 'kept', 3)], 9);
  dictionary.set('c', 'mine');
  shared.apply([], 4);
  expect(waitingIn(dictionary)).toEqual(['c=mine@4']);
  shared.apply([state('a', 'again', 5), state('b', 'again', 6), state('c', 'again', 7)], 7);
  expect(dictionary.list().map(({ value }) => value)).toEqual(['again', 'again', 'again']);
});

test('a state expires after the time that is left, and is replaced while it has not', () => {
  const { dictionary, shared, clock } = sharedOf();
  shared.apply([{ ...state('k', 1, 1), ttlMs: 300 }], 1);
  clock.ms += 100;
  expect(dictionary.entry('k')).toEqual({ key: 'k', value: 1, ttlMs: 200 });
  clock.ms += 200;
  expect(dictionary.get('k')).toBeUndefined();
  expect(dictionary.facts().entries).toBe(0);
});

test('a state that has no room is missing here, and is counted', () => {
  const { dictionary, shared } = sharedOf();
  fill(dictionary);
  confirmAll(dictionary);
  expect(shared.apply([state('k0', 'x'.repeat(400), 1), state('k1', 'y', 2)], 2)).toEqual({
    superseded: [],
    unfit: 1,
  });
  expect([dictionary.get('k0'), dictionary.get('k1')]).toEqual([undefined, 'y']);
});

test('of all keys only those stay that the store has or that wait for it', () => {
  const { dictionary, shared } = sharedOf({}, 1 << 20);
  for (let n = 0; n < 3_000; n++) dictionary.set(`k${n}`, n);
  for (const change of shared.changes(5_000)) shared.settle(change);
  expect(waitingIn(dictionary)).toEqual([]);
  dictionary.set('k1', 'mine');
  dictionary.delete('k2');
  shared.keepOnly(new Set(['k0', 'k2', 'elsewhere']));
  expect(dictionary.keys()).toEqual(['k1', 'k0']);
  expect(waitingIn(dictionary)).toEqual(['k1=mine@0', 'k2=@0']);
});

const renewals = [
  { it: 'makes a change again', before: () => undefined, waits: ['k=lost@8~60'] },
  { it: 'keeps a later change', before: (d: Dictionary) => d.set('k', 'later'), waits: ['k=later@8'] },
  { it: 'keeps a later deletion', before: (d: Dictionary) => d.delete('k'), waits: ['k=@8'] },
];
for (const { it, before, waits } of renewals)
  test(`what the store has lost ${it}`, () => {
    const { dictionary, shared } = sharedOf();
    dictionary.set('k', 'lost', 60);
    const [change] = shared.changes(1);
    confirmAll(dictionary);
    shared.apply([], 8);
    before(dictionary);
    if (change) shared.renew(change);
    expect(waitingIn(dictionary)).toEqual(waits);
  });

test('a deletion that the store has lost is made again, whether the key has come back or not', () => {
  const { dictionary, shared } = sharedOf();
  const lost = { sequence: 1, value: undefined, ttlMs: 0, seen: 0 };
  shared.apply([state('back', 1, 1)], 1);
  shared.renew({ ...lost, key: 'back' });
  shared.renew({ ...lost, key: 'gone' });
  expect(waitingIn(dictionary)).toEqual(['back=@1', 'gone=@1']);
  expect([dictionary.keys(), dictionary.facts().entries]).toEqual([[], 0]);
});

test('when a dictionary becomes shared, or its store loses all, everything waits and has seen nothing', () => {
  const { dictionary, clock } = dictionaryOf();
  dictionary.set('a', 1);
  dictionary.set('short', 1, 10);
  dictionary.set('b', 'two', 500);
  dictionary.set('large', 'x'.repeat(MOST_BYTES));
  clock.ms += 10;
  const { shared } = dictionary;
  shared.share(7, MOST_BYTES);
  expect(waitingIn(dictionary)).toEqual(['a=1@0', 'b=two@0~490']);
  confirmAll(dictionary);
  shared.apply([], 20);
  dictionary.set('c', 3);
  shared.share(7, MOST_BYTES);
  expect(waitingIn(dictionary)).toEqual(['c=3@20']);
  shared.forget();
  shared.renewOthers(new Set(['a']));
  expect(waitingIn(dictionary)).toEqual(['c=3@0', 'b=two@0~490']);
});

test('another store knows nothing, and what was deleted for the one before is forgotten', () => {
  const buffer = createZone(zone());
  const [former, dictionary] = [openDictionary(buffer, 1), openDictionary(buffer, 2)];
  former.shared.share(7, MOST_BYTES);
  dictionary.set('a', 1);
  dictionary.set('b', 2);
  former.shared.apply([], 20);
  dictionary.delete('b');
  dictionary.shared.share(8, MOST_BYTES);
  expect(waitingIn(dictionary)).toEqual(['a=1@0']);
  expect([waitingIn(former), former.shared.apply([], 30)]).toEqual([[], undefined]);
  dictionary.shared.unshare();
  expect(waitingIn(dictionary)).toEqual([]);
  expect(dictionary.facts()).toMatchObject({ entries: 1, freeBytes: 28 * 128 });
});

test('changes wake the thread that watches, once for several', async () => {
  const buffer = createZone(zone());
  const watching = openDictionary(buffer, 1);
  const writing = openDictionary(buffer, 2);
  let calls = 0;
  watching.shared.share(7, MOST_BYTES);
  const end = watching.shared.watch(() => (calls += 1));
  writing.set('a', 1);
  writing.set('b', 2);
  await expect.poll(() => calls).toBe(1);
  expect(waitingIn(watching)).toEqual(['a=1@0', 'b=2@0']);
  writing.delete('a');
  await expect.poll(() => calls).toBe(2);
  end();
});
