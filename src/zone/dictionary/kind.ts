import type { DictionaryDeclaration, ZoneKind } from '../declaration.ts';
import {
  HEADER_BYTES,
  MAX_ZONE_BYTES,
  type Memory,
  memoryOf,
  RECOVERIES_WORD,
  VERSION_WORD,
} from '../header.ts';

/*
 * The dictionary in shared memory. Little endian, offsets in bytes. Magic, lock, recoveries, identity and
 * alive flags are where every zone has them (../header.ts).
 *
 *   header    4 u32 version   8 u32 blocks   12 u32 buckets (a power of two)   24 u32 first free block
 *             28 u32 free blocks   32 u32 newest entry   36 u32 oldest entry   40 u32 entries   44 u32 evicted
 *             48 f64 no entry expires before this time (ms; Infinity: none ever does)
 *   buckets   at 192: u32 each, the first entry of that hash
 *   blocks    128 bytes each, at a multiple of 128; numbered from 1, so that 0 means "none"
 *
 * An entry is a chain of blocks: memory never fragments, and what one entry frees fits any other.
 *
 *   first     0 i32 mark (1: here an entry begins)   4 u32 next block   8 u32 hash   12 u32 next of the bucket
 *             16 u32 newer entry   20 u32 older entry   24 u16 key length   26 u8 type
 *             28 u32 text length   32 f64 expires (ms; 0: never)   40 f64 number   48 payload
 *   further   0 i32 mark (0)   4 u32 next block   8 payload
 *
 * The payload is the key and, behind it, the text. An entry is marked when all of it is written and unmarked
 * before any of it is given up: whatever a writer was doing when it died, the marked chains are whole, and
 * everything else is rebuilt from them.
 */

export const DICTIONARY_MAGIC = 0x6777_6431;
export const DICTIONARY_VERSION = 1;
const MIN_DICTIONARY_BYTES = 4096;

const BLOCKS_WORD = 2;
const BUCKETS_WORD = 3;
export const FREE_WORD = 6;
export const FREE_COUNT_WORD = 7;
export const NEWEST_WORD = 8;
export const OLDEST_WORD = 9;
export const ENTRIES_WORD = 10;
export const EVICTED_WORD = 11;
export const EARLIEST_DOUBLE = 6;
export const BUCKET_WORD = HEADER_BYTES / 4;

export const BLOCK_BYTES = 128;
export const NEXT = 4;
export const HASH = 8;
export const BUCKET_NEXT = 12;
export const NEWER = 16;
export const OLDER = 20;
export const KEY_LENGTH = 24;
export const TYPE = 26;
export const TEXT_LENGTH = 28;
export const EXPIRES = 32;
export const NUMBER = 40;
export const FIRST_PAYLOAD = 48;
export const FURTHER_PAYLOAD = 8;

/** The longest key, in bytes of UTF-8. */
export const MAX_KEY_BYTES = 65_535;

/** The values of the type byte. */
export const TYPES = { string: 1, number: 2, boolean: 3 } as const;

/** How a dictionary divides its memory. */
export interface Geometry {
  readonly blocks: number;
  readonly buckets: number;
  /** Where block 1 starts. */
  readonly blocksAt: number;
}

/** Returns the geometry for a size: one bucket for one or two blocks. The remainder at the end is unused. */
export function geometryOf(sizeBytes: number): Geometry {
  const room = Math.floor(sizeBytes / BLOCK_BYTES);
  const buckets = 2 ** Math.floor(Math.log2(room));
  const blocksAt = Math.ceil((HEADER_BYTES + buckets * 4) / BLOCK_BYTES) * BLOCK_BYTES;
  return { buckets, blocksAt, blocks: room - blocksAt / BLOCK_BYTES };
}

/** Returns how many blocks a payload takes. */
export function blocksFor(payloadBytes: number): number {
  const further = Math.max(0, payloadBytes - (BLOCK_BYTES - FIRST_PAYLOAD));
  return 1 + Math.ceil(further / (BLOCK_BYTES - FURTHER_PAYLOAD));
}

/**
 * Rebuilds everything except the marked entries: buckets, order of use, free blocks and counts. After the death of a
 * writer this keeps every complete entry, but loses the order of use. The caller holds the lock.
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

/** Repairs a dictionary whose writer died while holding the lock, and counts the repair. The caller holds the lock. */
export function repairDictionary(memory: Memory): void {
  rebuild(memory);
  Atomics.add(memory.i32, RECOVERIES_WORD, 1);
}

function wordOf(block: number, { blocksAt }: Geometry): number {
  return (blocksAt + (block - 1) * BLOCK_BYTES) >> 2;
}

/** Links the entry that begins in this block as the newest so far. */
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
    if (later.sizeBytes === earlier.sizeBytes) return undefined;
    return `size ${later.sizeBytes} of zone "${later.name}" conflicts with already declared size ${earlier.sizeBytes}`;
  },

  format(buffer, { sizeBytes }) {
    const memory = memoryOf(buffer);
    const { blocks, buckets } = geometryOf(sizeBytes);
    memory.u32[VERSION_WORD] = DICTIONARY_VERSION;
    memory.u32[BLOCKS_WORD] = blocks;
    memory.u32[BUCKETS_WORD] = buckets;
    rebuild(memory);
  },

  keeps: (buffer) => new Uint32Array(buffer)[VERSION_WORD] === DICTIONARY_VERSION,
  repair: (buffer) => repairDictionary(memoryOf(buffer)),
};
