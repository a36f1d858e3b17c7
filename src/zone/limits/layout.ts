import { IDENTITY_WORD } from '../layout.ts';
import type { Memory } from '../layout.ts';

/*
 * Limits keep their counts in the blocks of a dictionary (`../dictionary/layout.ts`): one block holds a key of 80 bytes,
 * as many bytes as nginx takes for it on a 64-bit machine. Beside the dictionary's header:
 *
 *   header    56 u32 FNV-1a of the text that makes the keys
 *   entry     32 f64 time of the last request (request limits)   40 f64 excess, or number of requests
 */

export const REQUEST_LIMIT_MAGIC = 0x6777_7131;
export const CONNECTION_LIMIT_MAGIC = 0x6777_6331;
export const LIMITS_VERSION = 1;
export const KEY_WORD = 14;

/** Clients choose many of the keys: where they land in the table must not be theirs to know. */
export function seedOf({ u32 }: Memory): number {
  return u32[IDENTITY_WORD] as number;
}
