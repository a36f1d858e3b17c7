import { HEADER_BYTES, MAGIC_WORD, type Memory } from '../header.ts';

/*
 * The dictionary in shared memory. Little endian, offsets in bytes. Magic, lock, recoveries, identity and
 * alive flags are where every zone has them (../header.ts).
 *
 *   header    4 u32 version   8 u32 blocks   12 u32 buckets (a power of two)   24 u32 first free block
 *             28 u32 free blocks   32 u32 newest entry   36 u32 oldest entry   40 u32 entries   44 u32 evicted
 *             48 f64 no entry expires before this time (ms; Infinity: none ever does)
 *             120 i32 revision: grows with each change of the entries
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
 *
 * Limits (../limits) use the same table. A dictionary, which the gateways of a cluster may share, has in addition:
 *
 *   header    56 u32 first, 60 u32 last entry that waits for the store   80 f64 the store (0: not shared)
 *             88 f64 last change   96 f64 position in the stream of the store   104 u32 most bytes of a payload
 *             108 i32 wake (grows with each change)   112 f64 birth of that stream; 0: not known
 *   first     48 f64 number of the change that waits for the store; 0: none does
 *             56 f64 counter of the stream that the value has, or that the one who changed it had seen
 *             64 u32 later, 68 u32 earlier entry that waits   72 payload
 *
 * A deleted entry of a shared dictionary stays until the store knows that, without its text, with the time -Infinity, and not in the
 * order of use.
 */

export const DICTIONARY_MAGIC = 0x6777_6431;
export const DICTIONARY_VERSION = 2;

export const BLOCKS_WORD = 2;
export const BUCKETS_WORD = 3;
export const FREE_WORD = 6;
export const FREE_COUNT_WORD = 7;
export const NEWEST_WORD = 8;
export const OLDEST_WORD = 9;
export const ENTRIES_WORD = 10;
export const EVICTED_WORD = 11;
export const EARLIEST_DOUBLE = 6;
export const FIRST_WAITING_WORD = 14;
export const LAST_WAITING_WORD = 15;
export const STORE_DOUBLE = 10;
export const LAST_CHANGE_DOUBLE = 11;
export const POSITION_DOUBLE = 12;
export const BIRTH_DOUBLE = 14;
export const MOST_BYTES_WORD = 26;
export const WAKE_WORD = 27;
export const REVISION_WORD = 30;
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
export const CHANGE = 48;
export const COUNTER = 56;
export const LATER = 64;
export const EARLIER = 68;
const FIRST_PAYLOAD = 48;
const SHARED_FIRST_PAYLOAD = 72;
export const FURTHER_PAYLOAD = 8;

/** The longest key, in bytes of UTF-8. */
export const MAX_KEY_BYTES = 65_535;

/** The values of the type byte. */
export const TYPES = { string: 1, number: 2, boolean: 3 } as const;

/** How a table divides its memory. */
export interface Geometry {
  readonly blocks: number;
  readonly buckets: number;
  /** The offset of block 1. */
  readonly blocksAt: number;
  /** The offset of an entry's payload in its first block. */
  readonly firstPayload: number;
  /** Its entries can be shared. */
  readonly isDictionary: boolean;
}

/** Returns the geometry of a zone: one bucket for one or two blocks. The remainder at the end is unused. */
export function geometryOf({ bytes, u32 }: Memory): Geometry {
  const room = Math.floor(bytes.length / BLOCK_BYTES);
  const buckets = 2 ** Math.floor(Math.log2(room));
  const blocksAt = Math.ceil((HEADER_BYTES + buckets * 4) / BLOCK_BYTES) * BLOCK_BYTES;
  const isDictionary = u32[MAGIC_WORD] === DICTIONARY_MAGIC;
  const firstPayload = isDictionary ? SHARED_FIRST_PAYLOAD : FIRST_PAYLOAD;
  return { buckets, blocksAt, blocks: room - blocksAt / BLOCK_BYTES, firstPayload, isDictionary };
}

/** Returns how many blocks a payload takes. */
export function blocksFor(payloadBytes: number, { firstPayload }: Geometry): number {
  const further = Math.max(0, payloadBytes - (BLOCK_BYTES - firstPayload));
  return 1 + Math.ceil(further / (BLOCK_BYTES - FURTHER_PAYLOAD));
}
