import type { CacheDeclaration, ZoneKind } from '../declaration.ts';
import { fnv1a } from '../dictionary/entry.ts';
import {
  HEADER_BYTES,
  MAX_ZONE_BYTES,
  type Memory,
  memoryOf,
  RECOVERIES_WORD,
  VERSION_WORD,
} from '../header.ts';

/*
 * The index of a cache in shared memory. Little endian, offsets in bytes. Magic, lock, recoveries, identity and alive
 * flags are where every zone has them (../header.ts).
 *
 *   header    4 u32 version   8 u32 blocks   12 u32 buckets (a power of two)   24 u32 first free block   28 u32 free
 *             blocks   32 u32 newest entry   36 u32 oldest entry   40 u32 entries with a file   44 u32 last generation
 *             48 f64 bytes on disk   56 u32 FNV-1a of the directory   60 i32 seat (0, or the id + 1 of the thread that
 *             looks after the directory)   76 i32 loaded (1: every file of the directory is in the index)
 *             80 u32 last ticket   84 u32 purges so far   88 f64 no storing before this time (ms)
 *             96 f64 since when writing to the disk has failed (ms; 0: it succeeds)
 *   purges    at 192: records of 32 bytes (purges.ts), more in a larger index
 *   buckets   u32 each, the first entry of that digest
 *   blocks    160 bytes each, numbered from 1, so that 0 means "none"
 *
 * An entry is a chain of blocks:
 *
 *   first     0 i32 mark (1: here an entry begins)   4 u32 next block   8 u32 next of the bucket   12 u32 newer
 *             16 u32 older   20 i32 generation   24 digest (16 bytes)   40 f64 valid until (ms)   48 f64 last use (ms)
 *             56 f64 bytes on disk   64 f64 locked since (ms)   72 i32 owner of the lock (thread id + 1; 0: free)
 *             76 u32 ticket of the lock   80 u16 key length   82 u16 length of the tags   84 u8 state   85 u8 checked
 *             86 u16 remembered status   88 u32 uses   92 u32 hash of the key   96 u32 bits of the tags
 *             100 u8 varies (1: the key has variants, and this entry no response)   104 payload: the key, then the
 *             tags, separated by newlines
 *   further   0 i32 mark (0)   4 u32 next block   8 payload
 *
 * A generation is never given twice while the zone lives. Who has kept an entry in its own memory compares generations
 * without the lock: every change of an entry gives it another one.
 */

export const CACHE_MAGIC = 0x6777_7331;
export const CACHE_VERSION = 2;
const MIN_CACHE_BYTES = 16_384;

const BLOCKS_WORD = 2;
const BUCKETS_WORD = 3;
export const FREE_WORD = 6;
export const FREE_COUNT_WORD = 7;
export const NEWEST_WORD = 8;
export const OLDEST_WORD = 9;
export const ENTRIES_WORD = 10;
export const GENERATION_WORD = 11;
export const BYTES_DOUBLE = 6;
const PATH_WORD = 14;
export const SEAT_WORD = 15;
export const LOADED_WORD = 19;
export const TICKET_WORD = 20;
export const PURGES_WORD = 21;
export const PAUSED_DOUBLE = 11;
export const FAILING_DOUBLE = 12;

export const PURGES_AT = HEADER_BYTES;
export const PURGE_BYTES = 32;
/** Number of purge records per byte of an index, and its bounds, so that a small index keeps room for entries. */
const RECORDS_PER_BYTE = 1 / 2_048;
const LEAST_RECORDS = 64;
const MOST_RECORDS = 4_096;

export const BLOCK_BYTES = 160;
export const NEXT = 4;
export const BUCKET_NEXT = 8;
export const NEWER = 12;
export const OLDER = 16;
export const GENERATION = 20;
export const DIGEST = 24;
export const DIGEST_BYTES = 16;
export const VALID = 40;
export const USED = 48;
export const SIZE = 56;
export const LOCKED = 64;
export const OWNER = 72;
export const TICKET = 76;
export const KEY_LENGTH = 80;
export const TAGS_LENGTH = 82;
export const STATE = 84;
export const CHECKED = 85;
export const REMEMBERED = 86;
export const USES = 88;
export const KEY_HASH = 92;
export const TAG_BITS = 96;
export const VARIES = 100;
export const FIRST_PAYLOAD = 104;
export const FURTHER_PAYLOAD = 8;

/**
 * `counted`: there is no file, only uses are counted. `stored`: there is a file. `replacing`: a new file is about to
 * take the name. `deleting`: the file is being removed. `unsure`: a thread died during a change; only the disk can
 * tell.
 */
export const STATES = { counted: 0, stored: 1, replacing: 2, deleting: 3, unsure: 4 } as const;

/** How an index divides its memory. */
export interface Geometry {
  readonly purgeRecords: number;
  readonly bucketsAt: number;
  readonly buckets: number;
  /** The offset of block 1. */
  readonly blocksAt: number;
  readonly blocks: number;
}

/** Returns the geometry for a size: about one bucket for each block. */
export function geometryOf(sizeBytes: number): Geometry {
  const wanted = Math.floor(sizeBytes * RECORDS_PER_BYTE);
  const purgeRecords = Math.min(MOST_RECORDS, Math.max(LEAST_RECORDS, wanted));
  const bucketsAt = PURGES_AT + PURGE_BYTES * purgeRecords;
  const room = Math.floor((sizeBytes - bucketsAt) / (BLOCK_BYTES + 4));
  const buckets = 2 ** Math.floor(Math.log2(room));
  const blocksAt = Math.ceil((bucketsAt + buckets * 4) / 8) * 8;
  const blocks = Math.floor((sizeBytes - blocksAt) / BLOCK_BYTES);
  return { purgeRecords, bucketsAt, buckets, blocksAt, blocks };
}

/** Returns how many blocks a payload takes. */
export function blocksFor(payloadBytes: number): number {
  const further = Math.max(0, payloadBytes - (BLOCK_BYTES - FIRST_PAYLOAD));
  return 1 + Math.ceil(further / (BLOCK_BYTES - FURTHER_PAYLOAD));
}

function byteAt(block: number, { blocksAt }: Geometry): number {
  return blocksAt + (block - 1) * BLOCK_BYTES;
}

/** Rebuilds everything except the marked entries. The order of use is lost. The caller holds the lock. */
function rebuild(memory: Memory): void {
  const geometry = geometryOf(memory.bytes.length);
  const { u32, i32, f64 } = memory;
  u32.fill(0, geometry.bucketsAt / 4, geometry.bucketsAt / 4 + geometry.buckets);
  for (const word of [FREE_WORD, FREE_COUNT_WORD, NEWEST_WORD, OLDEST_WORD, ENTRIES_WORD]) u32[word] = 0;
  f64[BYTES_DOUBLE] = 0;
  const taken = new Uint8Array(geometry.blocks + 1);
  for (let block = 1; block <= geometry.blocks; block++) {
    if (Atomics.load(i32, byteAt(block, geometry) >> 2) === 1) keep(memory, block, { geometry, taken });
  }
  for (let block = geometry.blocks; block >= 1; block--) {
    if (taken[block] === 1) continue;
    u32[(byteAt(block, geometry) + NEXT) >> 2] = u32[FREE_WORD] as number;
    u32[FREE_WORD] = block;
    u32[FREE_COUNT_WORD] = (u32[FREE_COUNT_WORD] as number) + 1;
  }
}

/** Links the entry that begins in this block as the newest so far. */
function keep(
  { u32, f64, bytes }: Memory,
  entry: number,
  { geometry, taken }: { geometry: Geometry; taken: Uint8Array },
): void {
  const at = byteAt(entry, geometry);
  for (let block = entry; block !== 0; block = u32[(byteAt(block, geometry) + NEXT) >> 2] as number)
    taken[block] = 1;
  const bucket = geometry.bucketsAt / 4 + ((u32[(at + DIGEST) >> 2] as number) & (geometry.buckets - 1));
  u32[(at + BUCKET_NEXT) >> 2] = u32[bucket] as number;
  u32[bucket] = entry;
  const newest = u32[NEWEST_WORD] as number;
  u32[(at + NEWER) >> 2] = 0;
  u32[(at + OLDER) >> 2] = newest;
  if (newest === 0) u32[OLDEST_WORD] = entry;
  else u32[(byteAt(newest, geometry) + NEWER) >> 2] = entry;
  u32[NEWEST_WORD] = entry;
  if (bytes[at + STATE] === STATES.counted) return;
  u32[ENTRIES_WORD] = (u32[ENTRIES_WORD] as number) + 1;
  f64[BYTES_DOUBLE] = (f64[BYTES_DOUBLE] as number) + (f64[(at + SIZE) >> 3] as number);
}

/** Repairs an index whose writer died while holding the lock, and counts the repair. The caller holds the lock. */
export function repairCache(memory: Memory): void {
  rebuild(memory);
  Atomics.add(memory.i32, RECOVERIES_WORD, 1);
}

/** Frees the entries that a thread has locked, and its seat. The caller holds the lock. */
function forgetThread({ i32, u32, bytes }: Memory, threadId: number): void {
  const geometry = geometryOf(bytes.length);
  Atomics.compareExchange(i32, SEAT_WORD, threadId + 1, 0);
  for (let entry = u32[NEWEST_WORD] as number; entry !== 0;) {
    const at = byteAt(entry, geometry);
    if (i32[(at + OWNER) >> 2] === threadId + 1) {
      i32[(at + OWNER) >> 2] = 0;
      const state = bytes[at + STATE] as number;
      if (state === STATES.replacing || state === STATES.deleting) bytes[at + STATE] = STATES.unsure;
    }
    entry = u32[(at + OLDER) >> 2] as number;
  }
}

/** Indexes of caches (proxy_cache_path). */
export const cacheKind: ZoneKind<CacheDeclaration> = {
  magic: CACHE_MAGIC,
  bytes: ({ sizeBytes }) => sizeBytes - (sizeBytes % 8),

  fault({ name, sizeBytes }) {
    if (sizeBytes < MIN_CACHE_BYTES)
      return `zone "${name}" is too small: a cache needs at least ${MIN_CACHE_BYTES} bytes, ${sizeBytes} given`;
    if (sizeBytes > MAX_ZONE_BYTES)
      return `zone "${name}" is too large: at most ${MAX_ZONE_BYTES} bytes are allowed, ${sizeBytes} given`;
    return undefined;
  },

  conflict(later, earlier) {
    if (later.sizeBytes === earlier.sizeBytes && later.path === earlier.path) return undefined;
    return `cache "${later.name}" is already declared with another path or size`;
  },

  format(buffer, { sizeBytes, path }) {
    const memory = memoryOf(buffer);
    const { blocks, buckets } = geometryOf(sizeBytes - (sizeBytes % 8));
    memory.u32[VERSION_WORD] = CACHE_VERSION;
    memory.u32[BLOCKS_WORD] = blocks;
    memory.u32[BUCKETS_WORD] = buckets;
    memory.u32[PATH_WORD] = fnv1a(Buffer.from(path));
    rebuild(memory);
  },

  keeps(buffer, { path }) {
    const words = new Uint32Array(buffer, 0, HEADER_BYTES / 4);
    return words[VERSION_WORD] === CACHE_VERSION && words[PATH_WORD] === fnv1a(Buffer.from(path));
  },

  repair: (buffer) => repairCache(memoryOf(buffer)),
  leave: (buffer, threadId) => forgetThread(memoryOf(buffer), threadId),
};
