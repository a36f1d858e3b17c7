import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { CacheIndex, IndexedEntry, PurgeList, Removal } from '../../zone/index.ts';
import type { CacheMeter, PurgedBy } from './cache-meter.ts';
import type { CacheDirectory } from './directory.ts';
import { nameOf } from './entry-name.ts';

/** Longest wait for files that somebody else removes: their worker may have died. */
const REMOVAL_MS = 1_000;
/** Longest wait for the loader, and how often it is looked at. */
const LOADING_MS = 10_000;
const LOADING_STEP_MS = 20;

/** The cache that is purged. */
interface PurgedStore {
  readonly index: CacheIndex;
  readonly directory: CacheDirectory;
  readonly meter: CacheMeter;
  remove(removals: readonly Removal[]): Promise<void>;
  diskFault(call: string, error: unknown): void;
}

/** Removes what several purges mean, at once. Resolves with a number for each text when no worker serves them any more. */
export async function purgeAll(
  store: PurgedStore,
  purges: PurgeList,
  by: PurgedBy,
): Promise<readonly number[]> {
  const { index } = store;
  const matcher = index.recordPurges(purges);
  const counts = purges.texts.map(() => 0);
  // What the loader has not seen is dropped when it is: only who asks for numbers waits for it.
  if (!index.isLoaded && by === 'api') await purgeUnseen(store, purges, counts);
  const others: Pick<IndexedEntry, 'entry' | 'generation'>[] = [];
  for (let cursor: number | undefined = 1; cursor !== undefined;) {
    const part = index.purgePart(matcher, cursor);
    cursor = part.next;
    others.push(...part.others);
    for (const { nth } of [...part.removals, ...part.others])
      if (nth !== undefined) (counts[nth] as number) += 1;
    await store.remove(part.removals);
    // A large index takes some milliseconds: requests go on meanwhile.
    if (cursor !== undefined) await nextTurn();
  }
  await removedByOthers(store, others);
  store.meter.purged(
    by,
    counts.reduce((sum, count) => sum + count, 0),
  );
  return counts;
}

/**
 * What the loader has not seen yet is not served any more, and goes when it is seen. Waiting for that only makes the numbers
 * right, so it has an end.
 */
async function purgeUnseen(store: PurgedStore, { kind, texts }: PurgeList, counts: number[]): Promise<void> {
  if (kind === 'key') {
    for (const [nth, key] of texts.entries()) (counts[nth] as number) += await removeUnseen(store, key);
    return;
  }
  for (let waitedMs = 0; waitedMs < LOADING_MS && !store.index.isLoaded; waitedMs += LOADING_STEP_MS)
    await sleep(LOADING_STEP_MS);
}

/** Waits until files that somebody else removes are gone. */
async function removedByOthers(
  { index }: PurgedStore,
  entries: readonly Pick<IndexedEntry, 'entry' | 'generation'>[],
): Promise<void> {
  for (let waitedMs = 0, stepMs = 1; waitedMs < REMOVAL_MS; waitedMs += stepMs, stepMs *= 2) {
    if (!entries.some((entry) => index.isCurrent(entry))) return;
    await sleep(stepMs);
  }
}

/** Removes the file of a key that is not in the index yet. */
async function removeUnseen(store: PurgedStore, key: string): Promise<number> {
  const { digest } = nameOf(key);
  const known = store.index.peek(digest);
  if (known && known.file !== 'unsure') return 0;
  const hasFile = await store.directory
    .remove(digest)
    .catch((error: unknown) => store.diskFault('unlink', error));
  return hasFile === true ? 1 : 0;
}
