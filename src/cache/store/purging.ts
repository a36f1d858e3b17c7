import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { CacheIndex, IndexedEntry, PurgeList, Removal } from '../../zone/index.ts';
import type { CacheMeter, PurgedBy } from './cache-meter.ts';
import type { CacheDirectory } from './directory.ts';
import { nameOf } from './entry-name.ts';

/** Longest wait for files that other workers remove: they may have died. */
const REMOVAL_MS = 1_000;
/** Longest wait for the loader, and the interval between checks. */
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

/** Does several purges at once. Resolves with the number of entries for each text, once no worker serves them. */
export async function purgeAll(
  store: PurgedStore,
  purges: PurgeList,
  by: PurgedBy,
): Promise<readonly number[]> {
  const { index } = store;
  const matcher = index.recordPurges(purges);
  const counts = purges.texts.map(() => 0);
  // Entries that the loader has not seen are removed when it sees them. Only the API waits for their number.
  if (!index.isLoaded && by === 'api') await purgeUnseen(store, purges, counts);
  const others: Pick<IndexedEntry, 'entry' | 'generation'>[] = [];
  for (let cursor: number | undefined = 1; cursor !== undefined;) {
    const part = index.purgePart(matcher, cursor);
    cursor = part.next;
    others.push(...part.others);
    for (const { nth } of [...part.removals, ...part.others])
      if (nth !== undefined) (counts[nth] as number) += 1;
    await store.remove(part.removals);
    // A large index takes some milliseconds; other requests are served in between.
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
 * Entries that the loader has not seen yet are no longer served, and are removed when it sees them. Waiting for that
 * only makes the numbers right, so the wait is limited.
 */
async function purgeUnseen(store: PurgedStore, { kind, texts }: PurgeList, counts: number[]): Promise<void> {
  if (kind === 'key') {
    for (const [nth, key] of texts.entries()) (counts[nth] as number) += await removeUnseen(store, key);
    return;
  }
  for (let waitedMs = 0; waitedMs < LOADING_MS && !store.index.isLoaded; waitedMs += LOADING_STEP_MS)
    await sleep(LOADING_STEP_MS);
}

/** Waits until the files that other workers remove are gone. */
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
