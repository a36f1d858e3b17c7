/*
 * The ring in shared memory (design/reliability.md, 4b). Little endian. Offsets are in bytes; `…_WORD` and
 * `…_DOUBLE` are the same places as indexes into the Int32 and the Float64 view.
 *
 *   header   0 u32 magic   4 u32 version   8 u32 capacity   12 u32 stride   16 i32 lock   20 i32 recoveries
 *            24 i32 wake counter   28 i32 sequence (odd: being written)   32 f64 next generation
 *            40 f64 oldest   48 f64 dropped   56 f64 last publish (ms)   64 u64 identity
 *            72 i32 hungry (0, or the owner+1 of a lock that waits for long)   128 16 words of alive flags
 *   entry    0 i32 sequence (odd: being written)   4 u32 checksum   8 f64 generation   16 f64 created (ms)
 *            24 u16 channel length   26 u16 type length   28 u32 payload length
 *            40 channel   104 type   168 payload
 */

export const MAGIC = 0x6777_7231;
export const VERSION = 1;
export const HEADER_BYTES = 192;
/** Eleven cache lines, so that two slots never share one. */
export const STRIDE_BYTES = 704;
export const STRIDE_WORDS = STRIDE_BYTES / 4;
export const MAX_ZONE_BYTES = 256 * 1024 * 1024;

export const MAGIC_WORD = 0;
export const VERSION_WORD = 1;
export const CAPACITY_WORD = 2;
export const STRIDE_WORD = 3;
export const LOCK_WORD = 4;
export const RECOVERIES_WORD = 5;
export const WAKE_WORD = 6;
export const SEQUENCE_WORD = 7;
export const NEXT_DOUBLE = 4;
export const OLDEST_DOUBLE = 5;
export const DROPPED_DOUBLE = 6;
export const LAST_PUBLISH_DOUBLE = 7;
export const IDENTITY_WORD = 16;
export const HUNGRY_WORD = 18;
export const ALIVE_WORD = 32;
export const ALIVE_WORDS = 16;

export const CHECKSUM = 4;
export const GENERATION = 8;
export const CREATED = 16;
export const CHANNEL_LENGTH = 24;
export const TYPE_LENGTH = 26;
export const PAYLOAD_LENGTH = 28;
export const CHANNEL = 40;
export const TYPE = 104;
export const PAYLOAD = 168;

/** The payload length of an event without payload; an empty payload has length 0. */
export const NO_PAYLOAD = 0xffff_ffff;

/** The longest texts of an event, in bytes of UTF-8. */
export const EVENT_LIMITS = { channelBytes: 64, typeBytes: 64, payloadBytes: 512 } as const;

/** Bytes of shared memory that a ring of `capacity` entries takes. */
export function ringBytes(capacity: number): number {
  return HEADER_BYTES + capacity * STRIDE_BYTES;
}

/** One stretch of memory, shared or private, seen as each of the types that the layout uses. */
export interface Memory {
  readonly bytes: Buffer;
  readonly u16: Uint16Array;
  readonly i32: Int32Array;
  readonly u32: Uint32Array;
  readonly f64: Float64Array;
}

/** All views of a buffer. */
export function memoryOf(buffer: ArrayBuffer | SharedArrayBuffer): Memory {
  return {
    bytes: Buffer.from(buffer),
    u16: new Uint16Array(buffer),
    i32: new Int32Array(buffer),
    u32: new Uint32Array(buffer),
    f64: new Float64Array(buffer),
  };
}

/** Where the slot of a generation starts, in bytes. Generations count from 1. */
export function slotOffset(generation: number, capacity: number): number {
  return HEADER_BYTES + ((generation - 1) % capacity) * STRIDE_BYTES;
}
