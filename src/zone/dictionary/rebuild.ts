import { RECOVERIES_WORD } from '../layout.ts';
import type { Memory } from '../layout.ts';
import {
  BLOCK_BYTES,
  BUCKET_WORD,
  BUCKET_NEXT,
  EARLIEST_DOUBLE,
  ENTRIES_WORD,
  EXPIRES,
  FREE_COUNT_WORD,
  FREE_WORD,
  HASH,
  NEWER,
  NEWEST_WORD,
  NEXT,
  OLDER,
  OLDEST_WORD,
  geometryOf,
} from './layout.ts';
import type { Geometry } from './layout.ts';

/**
 * Builds everything but the marked entries anew: buckets, order of use, free blocks and counts. Of a dictionary
 * whose writer died it keeps every whole entry; the order in which they were used is lost. The caller holds the lock.
 */
export function rebuild(memory: Memory): void {
  const geometry = geometryOf(memory.bytes.length);
  const { u32, i32, f64 } = memory;
  u32.fill(0, BUCKET_WORD, BUCKET_WORD + geometry.buckets);
  u32.fill(0, FREE_WORD, ENTRIES_WORD + 1);
  f64[EARLIEST_DOUBLE] = Infinity;
  const taken = new Uint8Array(geometry.blocks + 1);
  for (let block = 1; block <= geometry.blocks; block++) {
    if (Atomics.load(i32, wordOf(block, geometry)) === 1) keep(memory, block, { geometry, taken });
  }
  for (let block = geometry.blocks; block >= 1; block--) {
    if (taken[block] === 1) continue;
    u32[wordOf(block, geometry) + NEXT / 4] = u32[FREE_WORD] as number;
    u32[FREE_WORD] = block;
    u32[FREE_COUNT_WORD] = (u32[FREE_COUNT_WORD] as number) + 1;
  }
}

/** Puts a dictionary in order whose writer died under the lock, and counts it. The caller holds the lock. */
export function repairDictionary(memory: Memory): void {
  rebuild(memory);
  Atomics.add(memory.i32, RECOVERIES_WORD, 1);
}

function wordOf(block: number, { blocksAt }: Geometry): number {
  return (blocksAt + (block - 1) * BLOCK_BYTES) >> 2;
}

/** Links the entry that begins in this block as the newest one so far. */
function keep(
  { u32, f64 }: Memory,
  entry: number,
  { geometry, taken }: { geometry: Geometry; taken: Uint8Array },
): void {
  const word = wordOf(entry, geometry);
  for (let block = entry; block !== 0; block = u32[wordOf(block, geometry) + NEXT / 4] as number)
    taken[block] = 1;
  const bucket = BUCKET_WORD + ((u32[word + HASH / 4] as number) & (geometry.buckets - 1));
  u32[word + BUCKET_NEXT / 4] = u32[bucket] as number;
  u32[bucket] = entry;
  const newest = u32[NEWEST_WORD] as number;
  u32[word + NEWER / 4] = 0;
  u32[word + OLDER / 4] = newest;
  if (newest === 0) u32[OLDEST_WORD] = entry;
  else u32[wordOf(newest, geometry) + NEWER / 4] = entry;
  u32[NEWEST_WORD] = entry;
  u32[ENTRIES_WORD] = (u32[ENTRIES_WORD] as number) + 1;
  const expires = f64[(word * 4 + EXPIRES) >> 3] as number;
  if (expires !== 0 && expires < (f64[EARLIEST_DOUBLE] as number)) f64[EARLIEST_DOUBLE] = expires;
}
