import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createZone, keepsZone, markDead, openCacheIndex, type CacheIndex } from '../../../src/zone/index.ts';

const DECLARED = { name: 'one', kind: 'cache', sizeBytes: 32_768, path: '/srv/cache' } as const;
const AGE = { nowMs: 1_000, ageMs: 5_000 };
const STORED = { sizeBytes: 100, validMs: 5_000, isChecked: true, varies: false };

const digest = (key: string): Buffer => createHash('sha256').update(key).digest().subarray(0, 16);
const named = (key: string, ...tags: string[]) => ({ digest: digest(key), key, tags });

function indexOf(): { buffer: SharedArrayBuffer; index: CacheIndex } {
  const buffer = createZone(DECLARED);
  const index = openCacheIndex(buffer, 1);
  index.setLoaded();
  return { buffer, index };
}

function store(index: CacheIndex, key: string, ...tags: string[]) {
  const since = index.purges;
  expect(index.beginStore(named(key, ...tags), { since, nowMs: 1_000 })).toBe('begun');
  const entry = index.finishStore(digest(key), STORED);
  if (!entry || entry === 'purged') throw new Error('was not stored');
  return entry;
}

test('an index counts uses, and knows a stored entry', () => {
  const { index } = indexOf();
  expect(index.use(digest('/a'), '/a', 1)).toMatchObject({ file: 'absent', uses: 1 });
  expect(index.use(digest('/a'), '/a', 2)).toMatchObject({ file: 'absent', uses: 2 });
  const stored = store(index, '/a');
  expect(index.use(digest('/a'), '/a', 3)).toMatchObject({ ...stored, uses: 3, file: 'stored' });
  expect(index.facts()).toMatchObject({ entries: 1, bytes: 100 });
  store(index, '/a');
  expect(index.isCurrent(stored)).toBe(false);
  expect(index.facts()).toMatchObject({ entries: 1, bytes: 100 });
});

test('one at a time has the lock of an entry, until it is too old', () => {
  const { index } = indexOf();
  index.use(digest('/a'), '/a', 1);
  const ticket = index.lock(digest('/a'), AGE);
  expect(ticket).toBeGreaterThan(0);
  expect(index.lock(digest('/a'), AGE)).toBe(0);
  const later = index.lock(digest('/a'), { nowMs: 6_000, ageMs: 5_000 });
  expect(later).toBeGreaterThan(0);
  index.unlock(digest('/a'), ticket);
  expect(index.isLocked(digest('/a'))).toBe(true);
  index.unlock(digest('/a'), later);
  expect(index.isLocked(digest('/a'))).toBe(false);
});

test('the death of a thread frees its locks and its seat, and leaves what it was doing unsure', () => {
  const { buffer, index } = indexOf();
  const other = openCacheIndex(buffer, 2);
  index.use(digest('/a'), '/a', 1);
  other.lock(digest('/a'), AGE);
  expect(other.takeSeat()).toBe(true);
  expect(index.takeSeat()).toBe(false);
  other.beginStore(named('/b'), { since: 0, nowMs: 1 });
  markDead(buffer, 2);
  expect(index.isLocked(digest('/a'))).toBe(false);
  expect(index.takeSeat()).toBe(true);
  expect(index.use(digest('/b'), '/b', 2)?.file).toBe('unsure');
});

test('a repair keeps the entries and their sizes', () => {
  const { buffer, index } = indexOf();
  store(index, '/a', 'red');
  store(index, `/long${'x'.repeat(400)}`);
  // A thread that died with the lock.
  new Int32Array(buffer)[4] = 3;
  markDead(buffer, 2);
  expect(index.facts()).toMatchObject({ entries: 2, bytes: 200 });
  expect(index.use(digest('/a'), '/a', 2)?.file).toBe('stored');
  const matcher = index.recordPurges({ kind: 'tag', texts: ['red'] });
  expect(index.purgePart(matcher).removals).toHaveLength(1);
});

const purges = [
  { it: 'one key', purge: { kind: 'key', text: '/a' }, gone: ['/a'] },
  { it: 'a prefix', purge: { kind: 'prefix', text: '/a' }, gone: ['/a', '/ab'] },
  { it: 'all', purge: { kind: 'prefix', text: '' }, gone: ['/a', '/ab', '/c'] },
  { it: 'a tag', purge: { kind: 'tag', text: 'red' }, gone: ['/ab', '/c'] },
] as const;

for (const { it, purge, gone } of purges) {
  test(`a purge of ${it} removes what is there, and what began before it`, () => {
    const { index } = indexOf();
    store(index, '/a', 'blue');
    store(index, '/ab', 'red');
    store(index, '/c', 'blue', 'red');
    const before = index.purges;
    const { removals } = index.purgePart(index.recordPurges({ kind: purge.kind, texts: [purge.text] }));
    for (const removal of removals) index.finishRemoval(removal.digest);
    const kept = ['/a', '/ab', '/c'].filter((key) => index.use(digest(key), key, 2)?.file === 'stored');
    expect(['/a', '/ab', '/c'].filter((key) => !kept.includes(key))).toEqual(gone);
    const late = { since: before, nowMs: 2 };
    expect(index.beginStore(named('/ab', 'red'), late)).toBe(
      purge.text === '/a' && purge.kind === 'key' ? 'begun' : 'purged',
    );
    expect(index.beginStore(named('/c', 'red'), { since: index.purges, nowMs: 2 })).toBe('begun');
  });
}

test('a purge between the two steps of a store wins', () => {
  const { index } = indexOf();
  index.beginStore(named('/a'), { since: 0, nowMs: 1 });
  const { removals, others } = index.purgePart(index.recordPurges({ kind: 'key', texts: ['/a'] }));
  expect([removals, others.map(({ nth }) => nth)]).toEqual([[], [0]]);
  expect(others.every((other) => index.isCurrent(other))).toBe(true);
  expect(index.finishStore(digest('/a'), STORED)).toBe('purged');
  index.finishRemoval(digest('/a'));
  expect(others.some((other) => index.isCurrent(other))).toBe(false);
  expect(index.use(digest('/a'), '/a', 2)?.file).toBe('absent');
});

const lists = [
  { kind: 'key', texts: ['/none', '/ab', '/a', '/ab'], counts: [0, 1, 1, 0] },
  { kind: 'prefix', texts: ['/c', '/', '/a'], counts: [1, 2, 0] },
  { kind: 'tag', texts: ['none', 'red', 'blue'], counts: [0, 2, 1] },
  { kind: 'tag prefix', texts: ['bl', '', 're'], counts: [2, 1, 0] },
] as const;

for (const { kind, texts, counts } of lists) {
  test(`purges of several texts (${kind}) remove each entry for the first that means it`, () => {
    const { index } = indexOf();
    store(index, '/a', 'blue');
    store(index, '/ab', 'red');
    store(index, '/c', 'blue', 'red');
    const { removals } = index.purgePart(index.recordPurges({ kind, texts }));
    expect(texts.map((_, at) => removals.filter(({ nth }) => nth === at).length)).toEqual(counts);
  });
}

test('an entry that somebody else removes is waited for, and counted there', () => {
  const { index } = indexOf();
  const { generation } = store(index, '/a');
  expect(index.beginRemoval(digest('/a'), generation)).toBe(true);
  const { removals, others } = index.purgePart(index.recordPurges({ kind: 'key', texts: ['/a'] }));
  expect([removals, others.map(({ nth }) => nth)]).toEqual([[], [undefined]]);
  index.finishRemoval(digest('/a'));
  expect(others.some((other) => index.isCurrent(other))).toBe(false);
});

test('a purge is remembered for as many purges after it as there are records, then everything counts as purged', () => {
  const { index } = indexOf();
  const since = index.purges;
  for (let n = 0; n < 63; n++) index.recordPurges({ kind: 'tag', texts: [`other-${n}`] });
  const late = { since, nowMs: 1 };
  expect(index.beginStore(named('/a', 'red'), late)).toBe('begun');
  index.recordPurges({ kind: 'tag', texts: ['red'] });
  expect(index.beginStore(named('/b', 'red'), late)).toBe('purged');
  expect(index.beginStore(named('/b', 'blue'), late)).toBe('begun');
  index.recordPurges({ kind: 'tag', texts: ['more'] });
  expect(index.beginStore(named('/c', 'blue'), late)).toBe('purged');
});

test('a larger index remembers more purges', () => {
  const index = openCacheIndex(createZone({ ...DECLARED, sizeBytes: 1_048_576 }), 1);
  const since = index.purges;
  index.recordPurges({ kind: 'tag', texts: Array.from({ length: 512 }, (_, n) => `other-${n}`) });
  expect(index.beginStore(named('/a', 'red'), { since, nowMs: 1 })).toBe('begun');
  expect(index.beginStore(named('/b', 'other-0'), { since, nowMs: 1 })).toBe('purged');
});

test('the least recently used entries are condemned first, and locked ones not at all', () => {
  const { index } = indexOf();
  for (const key of ['/a', '/b', '/c']) store(index, key);
  index.use(digest('/a'), '/a', 2_000);
  index.lock(digest('/b'), AGE);
  const removals = index.condemn(10, (usedMs) => usedMs >= 2_000);
  expect(removals.map((removal) => removal.digest)).toEqual([digest('/c')]);
  expect(index.facts().bytes).toBe(200);
});

test('a full index drops what it only counts, and otherwise refuses', () => {
  const { index } = indexOf();
  let stored = 0;
  while (index.beginStore(named(`/${stored}`), { since: 0, nowMs: 1 }) === 'begun') {
    index.finishStore(digest(`/${stored++}`), STORED);
  }
  expect(stored).toBeGreaterThan(100);
  expect(index.use(digest('/new'), '/new', 2)).toBeUndefined();
  const { index: counting } = indexOf();
  for (let n = 0; n < 1_000; n++) expect(counting.use(digest(`/${n}`), `/${n}`, n)).toBeDefined();
});

test('a reload keeps an index while path and size stay', () => {
  const { buffer } = indexOf();
  expect(keepsZone(buffer, DECLARED)).toBe(true);
  expect(keepsZone(buffer, { ...DECLARED, path: '/elsewhere' })).toBe(false);
  expect(keepsZone(buffer, { ...DECLARED, sizeBytes: 65_536 })).toBe(false);
});
