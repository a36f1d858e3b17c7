import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { StoredEntry } from '../../src/cache/index.ts';
import type { Owner } from '../harness/owner.ts';
import { perTier } from '../harness/tier.ts';
import { filesIn, look, openedStore, placeForEntries, put } from './opened-store.ts';

/** A directory with one entry, and the bytes of its file. */
async function oneEntry(t: Owner, body: Buffer): Promise<{ path: string; file: string; bytes: Buffer }> {
  const path = placeForEntries(t);
  expect(await put(openedStore(t, path).store, '/a', [body])).toBe(true);
  const [file = ''] = filesIn(path);
  return { path, file, bytes: readFileSync(file) };
}

async function contentOf(entry: StoredEntry): Promise<Buffer> {
  const bytes = Buffer.alloc(entry.sizeBytes);
  for (let at = 0; at < bytes.length; at += 100_000)
    await entry.readLater(bytes.subarray(at, at + 100_000), at);
  return bytes;
}

/** Bits of a byte; the long tier flips all of them. */
const bitsAt = perTier({ short: (at: number) => [at % 8], long: () => [0, 1, 2, 3, 4, 5, 6, 7] });

test('an entry with a flipped bit is not served, whichever bit it is', async (t) => {
  const { path, file, bytes } = await oneEntry(t, Buffer.from('a small body'));
  for (let at = 0; at < bytes.length; at++) {
    for (const bit of bitsAt(at)) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] as number) ^ (1 << bit);
      writeFileSync(file, damaged);
      const { store, log } = openedStore(t, path);
      expect((await look(store, '/a')).entry, `bit ${bit} of byte ${at}`).toBeUndefined();
      expect(log.join()).toMatch(/^crit the (head|body) of cache file .* is damaged: it is removed$/);
    }
  }
  writeFileSync(file, bytes);
  expect((await look(openedStore(t, path).store, '/a')).entry?.content()).toEqual(
    Buffer.from('a small body'),
  );
});

test('an entry of another length is not served', async (t) => {
  const { path, file, bytes } = await oneEntry(t, Buffer.from('a small body'));
  for (let length = 0; length < bytes.length; length++) {
    writeFileSync(file, bytes.subarray(0, length));
    expect((await look(openedStore(t, path).store, '/a')).entry, `${length} bytes`).toBeUndefined();
  }
  for (const more of [1, 64, 100_000]) {
    writeFileSync(file, Buffer.concat([bytes, Buffer.alloc(more)]));
    expect((await look(openedStore(t, path).store, '/a')).entry, `${more} bytes more`).toBeUndefined();
  }
});

test('an entry of another key is not served', async (t) => {
  const { path, bytes } = await oneEntry(t, Buffer.from('a small body'));
  const { store } = openedStore(t, path);
  expect(await put(store, '/b', [Buffer.from('b')])).toBe(true);
  for (const file of filesIn(path)) writeFileSync(file, bytes);
  const { store: later } = openedStore(t, path);
  expect((await look(later, '/b')).entry).toBeUndefined();
  expect((await look(later, '/a')).entry?.content()).toEqual(Buffer.from('a small body'));
});

const large = Buffer.alloc(400_000, 'large body ');
const medium = large.subarray(0, 100_000);
const places = [0, 100_000, 200_001, large.length - 1];

for (const at of places) {
  test(`a large body with another byte ${at} is not read up to its end`, async (t) => {
    const { path, file, bytes } = await oneEntry(t, large);
    const bodyAt = bytes.length - large.length;
    bytes[bodyAt + at] = 0;
    writeFileSync(file, bytes);
    const { store, log } = openedStore(t, path);
    const { entry } = await look(store, '/a', 1_000);
    await expect(contentOf(entry as StoredEntry)).rejects.toThrow('the checksum of a stored body is wrong');
    entry?.release();
    await expect.poll(() => filesIn(path)).toEqual([]);
    expect(log).toEqual([`crit the body of cache file "${file}" is damaged: it is removed`]);
    expect((await look(store, '/a', 1_000)).entry).toBeUndefined();
  });
}

for (const { it, body, verifyBytes } of [
  {
    it: 'a large body is compared before it is sent if "proxy_cache_verify" says so',
    body: large,
    verifyBytes: 400_000,
  },
  { it: 'a body in memory is always compared before it is sent', body: medium, verifyBytes: 0 },
]) {
  test(it, async (t) => {
    const { path, file, bytes } = await oneEntry(t, body);
    bytes[bytes.length - 5] = 0;
    writeFileSync(file, bytes);
    const { store } = openedStore(t, path);
    expect((await look(store, '/a', verifyBytes)).entry).toBeUndefined();
    expect(filesIn(path)).toEqual([]);
  });
}

test('a large body that is right is compared once', async (t) => {
  const { path } = await oneEntry(t, large);
  const { store } = openedStore(t, path);
  const { entry, indexed } = await look(store, '/a', 1_000);
  expect((await contentOf(entry as StoredEntry)).equals(large)).toBe(true);
  entry?.release();
  expect(indexed?.isChecked).toBe(false);
  const again = await look(store, '/a', 1_000);
  expect(again.indexed?.isChecked).toBe(true);
  again.entry?.release();
});
