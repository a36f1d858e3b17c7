import { expect, test, vi } from 'vitest';
import { type Schema, SchemaCache } from '../../../src/modules/dbrest/schema/index.ts';

const empty = (): Schema => ({ tables: new Map(), textSearchConfigs: new Set(), roles: new Map() });

test('requests that wait for the first load share it', async () => {
  const read = vi.fn(() => Promise.resolve(empty()));
  const cache = new SchemaCache(read);
  const [a, b] = await Promise.all([cache.current(), cache.current()]);
  expect(a).toBe(b);
  expect(cache.current()).toBe(a);
  expect(read).toHaveBeenCalledTimes(1);
});

test('a failed first load is tried again by the next request', async () => {
  const read = vi.fn(() => Promise.resolve(empty()));
  read.mockRejectedValueOnce(new Error('down'));
  const cache = new SchemaCache(read);
  await expect(cache.current()).rejects.toThrow('down');
  await cache.current();
  expect(read).toHaveBeenCalledTimes(2);
});

test('requests with an unknown name cause one reload together, and no other until the pause is over', async () => {
  vi.useFakeTimers();
  try {
    const read = vi.fn(() => Promise.resolve(empty()));
    const cache = new SchemaCache(read);
    const first = await cache.current();
    const [a, b] = await Promise.all([cache.newerThan(first), cache.newerThan(first)]);
    expect(a).toBe(b);
    expect(a).not.toBe(first);
    expect(await cache.newerThan(a as Schema)).toBeUndefined();
    expect(await cache.newerThan(first)).toBe(a);
    expect(read).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(1_000);
    expect(await cache.newerThan(a as Schema)).not.toBe(a);
  } finally {
    vi.useRealTimers();
  }
});

test('requests that name something new wait for one reload together when it is due, and no more than a hundred do', async () => {
  vi.useFakeTimers();
  try {
    const read = vi.fn(() => Promise.resolve(empty()));
    const cache = new SchemaCache(read, undefined, () => Promise.resolve('changed'));
    const seen = (await cache.newerThan(await cache.current())) as Schema;
    const asked = Array.from({ length: 130 }, () => cache.newerThan(seen, { waits: true }));
    await vi.advanceTimersByTimeAsync(999);
    expect(read).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(1);
    const answers = await Promise.all(asked);
    expect(new Set(answers.slice(0, 100))).toEqual(new Set([cache.known]));
    expect(new Set(answers.slice(100))).toEqual(new Set([undefined]));
    expect(read).toHaveBeenCalledTimes(3);
  } finally {
    vi.useRealTimers();
  }
});

test('no request waits while the database is as it was read, and those that come at once look together', async () => {
  vi.useFakeTimers();
  try {
    const look = vi.fn(() => Promise.resolve('same'));
    const cache = new SchemaCache(() => Promise.resolve({ ...empty(), state: 'same' }), undefined, look);
    const seen = (await cache.newerThan(await cache.current())) as Schema;
    const asked = Array.from({ length: 20 }, () => cache.newerThan(seen, { waits: true }));
    expect(new Set(await Promise.all(asked))).toEqual(new Set([undefined]));
    expect(look).toHaveBeenCalledTimes(2);
  } finally {
    vi.useRealTimers();
  }
});

test('no request waits for a reload that is more than two seconds away', async () => {
  vi.useFakeTimers();
  try {
    const read = (): Promise<Schema> => new Promise((resolve) => setTimeout(() => resolve(empty()), 1_500));
    const cache = new SchemaCache(read);
    const first = cache.current();
    await vi.advanceTimersByTimeAsync(1_500);
    const second = cache.newerThan(await first);
    await vi.advanceTimersByTimeAsync(1_500);
    expect(await cache.newerThan((await second) as Schema, { waits: true })).toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});

test('requests use the old schema when a reload fails', async () => {
  const read = vi.fn(() => Promise.resolve(empty()));
  const cache = new SchemaCache(read);
  const first = await cache.current();
  read.mockRejectedValueOnce(new Error('down'));
  expect(await cache.newerThan(first)).toBeUndefined();
  expect(cache.current()).toBe(first);
});

test('refreshes during a load cause one more load after it', async () => {
  const loads: ((schema: Schema) => void)[] = [];
  const read = vi.fn(() => new Promise<Schema>((resolve) => loads.push(resolve)));
  const cache = new SchemaCache(read);
  const [old, stale, fresh] = [empty(), empty(), empty()];
  const first = cache.current();
  loads[0]?.(old);
  await first;

  const refreshed = cache.refresh();
  const again = Promise.all([cache.refresh(), cache.refresh()]);
  loads[1]?.(stale);
  await refreshed;
  expect(cache.current()).toBe(stale);
  await vi.waitFor(() => expect(loads).toHaveLength(3));
  loads[2]?.(fresh);
  await again;
  expect(cache.current()).toBe(fresh);
  expect(read).toHaveBeenCalledTimes(3);
});

test('a refresh that fails keeps the old schema', async () => {
  const read = vi.fn(() => Promise.resolve(empty()));
  const cache = new SchemaCache(read);
  const first = await cache.current();
  read.mockRejectedValueOnce(new Error('down'));
  await cache.refresh();
  expect(cache.current()).toBe(first);
});

test('of two schemas the one that was read later is kept, in either order', async () => {
  const cache = new SchemaCache(() => Promise.resolve({ ...empty(), reads: 1 }));
  await cache.current();
  const newer = cache.adopt({ ...empty(), reads: 3 });
  expect(cache.adopt({ ...empty(), reads: 2 })).toBe(newer);
  expect(cache.current()).toBe(newer);
});
