import { appendFileSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test, type TestContext, vi } from 'vitest';
import type { Exchange } from '../../../src/http/index.ts';
import { FRESH_FILES, isFault, type OpenFile } from '../../../src/modules/static/files.ts';
import { type CacheRules, OpenFileCache } from '../../../src/modules/static/open-file-cache.ts';

const RULES: CacheRules = { max: 100, inactiveMs: 60_000, validMs: 10_000, minUses: 1, errors: false };
const x = {} as Exchange;

beforeEach((t) => {
  vi.useFakeTimers({ toFake: ['Date'] });
  t.onTestFinished(() => void vi.useRealTimers());
});

function setUp(t: TestContext, rules: Partial<CacheRules> = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'gw-cache-'));
  const cache = new OpenFileCache(FRESH_FILES, { ...RULES, ...rules });
  t.onTestFinished(() => {
    cache.close();
    rmSync(dir, { recursive: true });
  });
  const write = (name: string, content: string): string => {
    writeFileSync(join(dir, name), content);
    return join(dir, name);
  };
  return { cache, dir, write };
}

function opened(cache: OpenFileCache, path: string): OpenFile {
  const file = cache.open(path, x);
  if (isFault(file)) throw file.error;
  return file;
}

function read(cache: OpenFileCache, path: string): string {
  const file = opened(cache, path);
  const text = Buffer.from(file.content()).toString();
  file.release();
  return text;
}

/** Paths below the directory that this process has open. */
function openPaths(dir: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(dir) ? target : [];
    } catch {
      return [];
    }
  });
}

const LARGE = 'x'.repeat(100_000);

test('a changed file shows when its time of validity is over, and not before', (t) => {
  const { cache, write } = setUp(t);
  const path = write('a', 'one');
  expect(read(cache, path)).toBe('one');
  write('a', 'other');
  vi.advanceTimersByTime(9_999);
  expect(read(cache, path)).toBe('one');
  vi.advanceTimersByTime(1);
  expect(read(cache, path)).toBe('other');
});

test('the result of a file test is valid as long as that of an open', (t) => {
  const { cache, write } = setUp(t);
  const path = write('a', 'one');
  expect(cache.look(path, x)).toMatchObject({ kind: 'file', sizeBytes: 3 });
  appendFileSync(path, ' more');
  expect(cache.look(path, x)).toMatchObject({ sizeBytes: 3 });
  vi.advanceTimersByTime(10_000);
  expect(cache.look(path, x)).toMatchObject({ sizeBytes: 8 });
});

test('a missing file is remembered only with open_file_cache_errors', (t) => {
  const forgetful = setUp(t);
  const path = join(forgetful.dir, 'late');
  expect(isFault(forgetful.cache.open(path, x))).toBe(true);
  forgetful.write('late', 'here');
  expect(read(forgetful.cache, path)).toBe('here');

  const remembering = setUp(t, { errors: true });
  const other = join(remembering.dir, 'late');
  expect(isFault(remembering.cache.open(other, x))).toBe(true);
  remembering.write('late', 'here');
  expect(isFault(remembering.cache.open(other, x))).toBe(true);
  expect(isFault(remembering.cache.look(other, x))).toBe(true);
  vi.advanceTimersByTime(10_000);
  expect(read(remembering.cache, other)).toBe('here');
});

test('a large file stays open for the next request, until it is forgotten', (t) => {
  const { cache, dir, write } = setUp(t);
  const path = write('large', LARGE);
  opened(cache, path).release();
  opened(cache, path).release();
  expect(openPaths(dir)).toEqual([path]);
  cache.close();
  expect(openPaths(dir)).toEqual([]);
});

test('a large file that is being sent stays open and unchanged when the cache has a newer one', (t) => {
  const { cache, dir, write } = setUp(t);
  const path = write('large', LARGE);
  const sending = opened(cache, path);
  rmSync(path);
  write('large', LARGE.replaceAll('x', 'y'));
  vi.advanceTimersByTime(10_000);
  const newer = opened(cache, path);
  const bytes = Buffer.alloc(10);
  expect(sending.read(bytes, 50)).toBe(10);
  expect(bytes.toString()).toBe('xxxxxxxxxx');
  expect(newer.read(bytes, 99_995)).toBe(5);
  sending.release();
  newer.release();
  expect(openPaths(dir)).toEqual([path]);
});

test('a small file is kept as its content and holds nothing open', (t) => {
  const { cache, dir, write } = setUp(t);
  const path = write('small', 'small');
  expect(read(cache, path)).toBe('small');
  expect(openPaths(dir)).toEqual([]);
  const bytes = Buffer.alloc(3);
  const file = opened(cache, path);
  expect([file.read(bytes, 1), bytes.toString()]).toEqual([3, 'mal']);
  file.release();
});

test('a file is kept after as many uses as open_file_cache_min_uses says', (t) => {
  const { cache, dir, write } = setUp(t, { minUses: 3 });
  const path = write('large', LARGE);
  opened(cache, path).release();
  opened(cache, path).release();
  expect(openPaths(dir)).toEqual([]);
  opened(cache, path).release();
  expect(openPaths(dir)).toEqual([path]);
});

test('at most max paths are remembered, and the least recently used one is removed', (t) => {
  const { cache, dir, write } = setUp(t, { max: 2 });
  const [one, two, three] = ['1', '2', '3'].map((name) => write(name, LARGE)) as [string, string, string];
  for (const path of [one, two, one, three]) opened(cache, path).release();
  expect(openPaths(dir).toSorted()).toEqual([one, three]);
});

test('a path unused for the time of inactive is forgotten when another one comes', (t) => {
  const { cache, dir, write } = setUp(t, { inactiveMs: 5_000, validMs: 60_000 });
  const one = write('1', LARGE);
  opened(cache, one).release();
  vi.advanceTimersByTime(5_000);
  const two = write('2', LARGE);
  opened(cache, two).release();
  expect(openPaths(dir)).toEqual([two]);
});

test('at most 64 MB of small files are kept, at any max', (t) => {
  const { cache, write } = setUp(t, { max: 1_200 });
  const content = 'x'.repeat(65_536);
  const paths = Array.from({ length: 1_200 }, (_, index) => write(String(index), content));
  for (const path of paths) {
    expect(read(cache, path)).toBe(content);
    rmSync(path);
  }
  const kept = paths.filter((path) => !isFault(cache.open(path, x)));
  expect(kept).toEqual(paths.slice(-1_024));
});
