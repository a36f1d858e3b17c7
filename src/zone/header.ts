/*
 * The header that every zone begins with. Little endian. Offsets are in bytes; `…_WORD` is the same offset as an index into
 * the Int32 view. The rest belongs to the kind of the zone.
 *
 *   0 u32 magic   4 u32 version   16 i32 lock   20 i32 recoveries   64 u64 identity
 *   72 i32 priority (0, or the id + 1 of a thread that has waited long)   128 16 words of alive flags
 */

export const HEADER_BYTES = 192;
export const MAX_ZONE_BYTES = 256 * 1024 * 1024;

export const MAGIC_WORD = 0;
export const VERSION_WORD = 1;
export const LOCK_WORD = 4;
export const RECOVERIES_WORD = 5;
export const IDENTITY_WORD = 16;
export const PRIORITY_WORD = 18;
export const ALIVE_WORD = 32;
export const ALIVE_WORDS = 16;

/** Typed views of one piece of memory, shared or private. */
export interface Memory {
  readonly bytes: Buffer;
  readonly u16: Uint16Array;
  readonly i32: Int32Array;
  readonly u32: Uint32Array;
  readonly f64: Float64Array;
}

/** Returns all views of a buffer. */
export function memoryOf(buffer: ArrayBuffer | SharedArrayBuffer): Memory {
  return {
    bytes: Buffer.from(buffer),
    u16: new Uint16Array(buffer),
    i32: new Int32Array(buffer),
    u32: new Uint32Array(buffer),
    f64: new Float64Array(buffer),
  };
}
