import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CacheMeter } from '../../src/cache/store/cache-meter.ts';
import { CacheDirectory } from '../../src/cache/store/directory.ts';
import { nameOf } from '../../src/cache/store/entry-name.ts';
import { CacheStore, type Found } from '../../src/cache/store/store.ts';
import { Counters, createCounterMemory, createZone, openCacheIndex } from '../../src/zone/index.ts';
import type { Owner } from '../harness/owner.ts';

const HOUR_MS = 3_600_000;

/** A store of a test, with its log. */
export interface OpenedStore {
  readonly store: CacheStore;
  readonly log: string[];
}

/** Makes a directory that is removed after the test. */
export function placeForEntries(t: Owner): string {
  const path = mkdtempSync(join(tmpdir(), 'gw-store-'));
  t.onTestFinished(async () => rmSync(path, { recursive: true }));
  return path;
}

/** Opens a store on a directory as after a start: nothing is known of its files. */
export function openedStore(t: Owner, path: string, directory = directoryAt(path)): OpenedStore {
  const log: string[] = [];
  const index = openCacheIndex(createZone({ name: 'one', kind: 'cache', sizeBytes: 32_768, path }), 1);
  const metrics = new Counters(createCounterMemory(64, 2), 1);
  const meter = new CacheMeter(metrics, { zone: 'one', index, maxBytes: 0 });
  const store = new CacheStore({
    name: 'one',
    index,
    directory,
    meter,
    log: { write: (level, message) => void log.push(`${level} ${message}`) },
  });
  t.onTestFinished(async () => store.close());
  return { store, log };
}

export function directoryAt(path: string): CacheDirectory {
  return new CacheDirectory({ path, levels: [] }, { owner: 'test', threadId: 1 });
}

/** Stores a response of some pieces. Resolves with false if it is not stored after all. */
export async function put(store: CacheStore, key: string, pieces: readonly Buffer[]): Promise<boolean> {
  const since = store.index.purges;
  const nowMs = store.now();
  store.index.use(nameOf(key).digest, key, nowMs);
  const times = { storedMs: nowMs, validMs: nowMs + HOUR_MS, updatingMs: 0, errorMs: 0 };
  const response = { status: 200, reason: 'OK', headers: ['ETag', '"a"'], isPlain: true, announcedBytes: -1 };
  const description = { key, variant: '', tags: ['red'], response };
  const fill = store.fill({ name: nameOf(key), description, times, since });
  for (const piece of pieces) fill?.add(piece);
  await fill?.finish();
  return store.index.peek(nameOf(key).digest)?.file === 'stored';
}

export async function look(store: CacheStore, key: string, verifyBytes = 1_048_576): Promise<Found> {
  return store.find(key, { variantOf: () => '', verifyBytes });
}

/** The files of entries in a directory. */
export function filesIn(path: string): string[] {
  return readdirSync(path)
    .map((name) => join(path, name))
    .filter((file) => statSync(file).isFile());
}
