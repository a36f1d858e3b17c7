import type { DictionaryDeclaration, ZoneKind } from '../declaration.ts';
import { MAX_ZONE_BYTES, type Memory, memoryOf, RECOVERIES_WORD, VERSION_WORD } from '../header.ts';
import {
  BLOCK_BYTES,
  BLOCKS_WORD,
  BUCKET_NEXT,
  BUCKET_WORD,
  BUCKETS_WORD,
  CHANGE,
  DICTIONARY_MAGIC,
  DICTIONARY_VERSION,
  EARLIER,
  EARLIEST_DOUBLE,
  ENTRIES_WORD,
  EXPIRES,
  FIRST_WAITING_WORD,
  FREE_COUNT_WORD,
  FREE_WORD,
  type Geometry,
  geometryOf,
  HASH,
  LAST_CHANGE_DOUBLE,
  LAST_WAITING_WORD,
  LATER,
  NEWER,
  NEWEST_WORD,
  NEXT,
  OLDER,
  OLDEST_WORD,
  REVISION_WORD,
  STORE_DOUBLE,
} from './layout.ts';

const MIN_DICTIONARY_BYTES = 4096;

/** A table that is being rebuilt. */
interface Rebuilding {
  readonly memory: Memory;
  readonly geometry: Geometry;
  /** 1 for each block that belongs to an entry. */
  readonly taken: Uint8Array;
  /** The first words of the entries that wait for the store. */
  readonly waiting: number[];
}

/**
 * Rebuilds everything from the marked entries: buckets, order of use, waiting changes, free blocks and counts. After
 * the death of a writer, every complete entry is kept, but the order of use is lost. The caller holds the lock.
 */
export function rebuild(memory: Memory): void {
  const geometry = geometryOf(memory);
  const { u32, i32, f64 } = memory;
  u32.fill(0, BUCKET_WORD, BUCKET_WORD + geometry.buckets);
  u32.fill(0, FREE_WORD, ENTRIES_WORD + 1);
  f64[EARLIEST_DOUBLE] = Infinity;
  const rebuilding: Rebuilding = {
    memory,
    geometry,
    taken: new Uint8Array(geometry.blocks + 1),
    waiting: [],
  };
  for (let block = 1; block <= geometry.blocks; block++) {
    if (Atomics.load(i32, wordOf(block, geometry)) === 1) keep(block, rebuilding);
  }
  for (let block = geometry.blocks; block >= 1; block--) {
    if (rebuilding.taken[block] === 1) continue;
    u32[wordOf(block, geometry) + NEXT / 4] = u32[FREE_WORD] as number;
    u32[FREE_WORD] = block;
    u32[FREE_COUNT_WORD] = (u32[FREE_COUNT_WORD] as number) + 1;
  }
  if (geometry.isDictionary) linkWaiting(rebuilding);
  Atomics.add(i32, REVISION_WORD, 1);
}

/** Repairs a dictionary whose writer died while holding the lock, and counts the repair. The caller holds the lock. */
export function repairDictionary(memory: Memory): void {
  rebuild(memory);
  Atomics.add(memory.i32, RECOVERIES_WORD, 1);
}

function wordOf(block: number, { blocksAt }: Geometry): number {
  return (blocksAt + (block - 1) * BLOCK_BYTES) >> 2;
}

/** Links the entry that begins in this block as the newest so far. */
function keep(entry: number, rebuilding: Rebuilding): void {
  const { memory, geometry, taken, waiting } = rebuilding;
  const { u32, f64 } = memory;
  const word = wordOf(entry, geometry);
  const expires = f64[(word * 4 + EXPIRES) >> 3] as number;
  const isDeleted = geometry.isDictionary && expires < 0;
  const waits = geometry.isDictionary && (f64[(word * 4 + CHANGE) >> 3] as number) > 0;
  for (let block = entry; block !== 0; block = u32[wordOf(block, geometry) + NEXT / 4] as number)
    taken[block] = 1;
  const bucket = BUCKET_WORD + ((u32[word + HASH / 4] as number) & (geometry.buckets - 1));
  u32[word + BUCKET_NEXT / 4] = u32[bucket] as number;
  u32[bucket] = entry;
  if (waits) waiting.push(entry);
  if (isDeleted) return;
  u32[ENTRIES_WORD] = (u32[ENTRIES_WORD] as number) + 1;
  const newest = u32[NEWEST_WORD] as number;
  u32[word + NEWER / 4] = 0;
  u32[word + OLDER / 4] = newest;
  if (newest === 0) u32[OLDEST_WORD] = entry;
  else u32[wordOf(newest, geometry) + NEWER / 4] = entry;
  u32[NEWEST_WORD] = entry;
  if (expires !== 0 && expires < (f64[EARLIEST_DOUBLE] as number)) f64[EARLIEST_DOUBLE] = expires;
}

/** Links the waiting changes in the order in which they were made. */
function linkWaiting({ memory: { u32, f64 }, geometry, waiting }: Rebuilding): void {
  const changeOf = (entry: number): number => f64[(wordOf(entry, geometry) * 4 + CHANGE) >> 3] as number;
  // The writer died before the dictionary was shared.
  if (f64[STORE_DOUBLE] === 0) {
    for (const entry of waiting) f64[(wordOf(entry, geometry) * 4 + CHANGE) >> 3] = 0;
    waiting.length = 0;
  }
  waiting.sort((a, b) => changeOf(a) - changeOf(b));
  for (const [at, entry] of waiting.entries()) {
    u32[wordOf(entry, geometry) + EARLIER / 4] = waiting[at - 1] ?? 0;
    u32[wordOf(entry, geometry) + LATER / 4] = waiting[at + 1] ?? 0;
  }
  const last = waiting.at(-1);
  u32[FIRST_WAITING_WORD] = waiting[0] ?? 0;
  u32[LAST_WAITING_WORD] = last ?? 0;
  if (last !== undefined)
    f64[LAST_CHANGE_DOUBLE] = Math.max(f64[LAST_CHANGE_DOUBLE] as number, changeOf(last));
}

/** Dictionaries (shared_dict_zone). */
export const dictionaryKind: ZoneKind<DictionaryDeclaration> = {
  magic: DICTIONARY_MAGIC,
  bytes: ({ sizeBytes }) => sizeBytes - (sizeBytes % BLOCK_BYTES),

  fault({ name, sizeBytes }) {
    if (sizeBytes < MIN_DICTIONARY_BYTES)
      return `zone "${name}" is too small: a dictionary needs at least ${MIN_DICTIONARY_BYTES} bytes, ${sizeBytes} given`;
    if (sizeBytes > MAX_ZONE_BYTES)
      return `zone "${name}" is too large: at most ${MAX_ZONE_BYTES} bytes are allowed, ${sizeBytes} given`;
    return undefined;
  },

  conflict(later, earlier) {
    if (later.isKeyval !== earlier.isKeyval)
      return `zone "${later.name}" is a "keyval_zone" in one place and none in another`;
    if (later.sizeBytes === earlier.sizeBytes) return undefined;
    return `size ${later.sizeBytes} of zone "${later.name}" conflicts with already declared size ${earlier.sizeBytes}`;
  },

  format(buffer) {
    const memory = memoryOf(buffer);
    const { blocks, buckets } = geometryOf(memory);
    memory.u32[VERSION_WORD] = DICTIONARY_VERSION;
    memory.u32[BLOCKS_WORD] = blocks;
    memory.u32[BUCKETS_WORD] = buckets;
    rebuild(memory);
  },

  keeps: (buffer) => new Uint32Array(buffer)[VERSION_WORD] === DICTIONARY_VERSION,
  repair: (buffer) => repairDictionary(memoryOf(buffer)),
};
