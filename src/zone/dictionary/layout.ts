import { HEADER_BYTES } from '../layout.ts';

/*
 * The dictionary in shared memory. Little endian, offsets in bytes. Magic, lock, recoveries, identity and
 * alive flags stand where every zone has them (../layout.ts).
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
export const MIN_DICTIONARY_BYTES = 4096;

export const BLOCKS_WORD = 2;
export const BUCKETS_WORD = 3;
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

/** Values of the type byte. */
export const TYPES = { string: 1, number: 2, boolean: 3 } as const;

/** How a dictionary divides its memory. */
export interface Geometry {
  readonly blocks: number;
  readonly buckets: number;
  /** Where block 1 starts. */
  readonly blocksAt: number;
}

/** One bucket for every one or two blocks; what is left of the size at the end stays unused. */
export function geometryOf(sizeBytes: number): Geometry {
  const room = Math.floor(sizeBytes / BLOCK_BYTES);
  const buckets = 2 ** Math.floor(Math.log2(room));
  const blocksAt = Math.ceil((HEADER_BYTES + buckets * 4) / BLOCK_BYTES) * BLOCK_BYTES;
  return { buckets, blocksAt, blocks: room - blocksAt / BLOCK_BYTES };
}

/** Blocks that a payload of so many bytes takes. */
export function blocksFor(payloadBytes: number): number {
  const further = Math.max(0, payloadBytes - (BLOCK_BYTES - FIRST_PAYLOAD));
  return 1 + Math.ceil(further / (BLOCK_BYTES - FURTHER_PAYLOAD));
}
