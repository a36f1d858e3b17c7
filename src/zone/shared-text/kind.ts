import type { SharedTextDeclaration, ZoneKind } from '../declaration.ts';
import { HEADER_BYTES, MAX_ZONE_BYTES, VERSION_WORD } from '../header.ts';
import { clearSeat } from '../seat.ts';

/*
 * A text with a revision. Little endian, offsets in 32-bit words.
 *
 *   header   the part that all zones share, then 1 u32 version   2 u32 bytes of the longest text
 *            20 i32 revision (0: nothing was ever written)   27 and 28 u32 bytes of the text in each copy
 *            22 i32 revision that was saved   23 and 24 the first seat   25 and 26 the second seat
 *   copies   two, behind the header: revision % 2 is the current one, the other one is for the next text
 *
 * A writer that dies before it has raised the revision leaves the current text as it was.
 */

const SHARED_TEXT_MAGIC = 0x6777_7431;
const SHARED_TEXT_VERSION = 1;
export const BYTES_WORD = 2;
export const REVISION_WORD = 20;
export const SAVED_REVISION_WORD = 22;
export const SEAT_WORDS = [23, 25] as const;
const LENGTHS_WORD = 27;

/** Returns where a copy starts, in bytes. */
export function copyAt(bytes: number, revision: number): number {
  return HEADER_BYTES + (revision & 1) * bytes;
}

/** Returns the word of the length of a copy. */
export function lengthWord(revision: number): number {
  return LENGTHS_WORD + (revision & 1);
}

/** Texts that all threads read and change. */
export const sharedTextKind: ZoneKind<SharedTextDeclaration> = {
  magic: SHARED_TEXT_MAGIC,
  bytes: ({ bytes }) => HEADER_BYTES + 2 * bytes,

  fault({ name, bytes }) {
    const need = HEADER_BYTES + 2 * bytes;
    if (need <= MAX_ZONE_BYTES) return undefined;
    return `zone "${name}" is too large: a text of ${bytes} bytes needs ${need} bytes, at most ${MAX_ZONE_BYTES} are allowed`;
  },

  conflict: (later, earlier) =>
    later.bytes === earlier.bytes ? undefined : `zone "${later.name}" is already declared with another size`,

  format(buffer, { bytes }) {
    const words = new Int32Array(buffer);
    words[VERSION_WORD] = SHARED_TEXT_VERSION;
    words[BYTES_WORD] = bytes;
  },

  keeps: (buffer, { bytes }) => {
    const words = new Int32Array(buffer);
    return words[VERSION_WORD] === SHARED_TEXT_VERSION && words[BYTES_WORD] === bytes;
  },

  repair: () => undefined,

  leave(buffer, threadId) {
    const words = new Int32Array(buffer);
    for (const at of SEAT_WORDS) clearSeat(words, at, threadId);
  },
};
