import type { MembershipDeclaration, ZoneKind } from '../declaration.ts';
import { HEADER_BYTES, MAX_ZONE_BYTES, VERSION_WORD } from '../header.ts';
import { clearSeat } from '../seat.ts';

/*
 * The members of one upstream that change while it serves: a text with a revision. Little endian, offsets in 32-bit words.
 *
 *   header   the part that all zones share, then 1 u32 version   2 u32 bytes of one copy
 *            20 i32 revision (0: nothing was ever written)   27 and 28 u32 bytes of the text in each copy
 *            22 i32 revision in the journal   23 and 24 the seat of the thread that writes the journal
 *            25 and 26 the seat of the thread that asks the source
 *   copies   two, behind the header: revision % 2 is the current one, the other one is for the next text
 *
 * A writer that dies before it has raised the revision leaves the current text as it was.
 */

const MEMBERSHIP_MAGIC = 0x6777_6d31;
const MEMBERSHIP_VERSION = 1;
export const COPY_BYTES_WORD = 2;
export const REVISION_WORD = 20;
export const JOURNALED_WORD = 22;
export const JOURNAL_SEAT_WORD = 23;
export const SOURCE_SEAT_WORD = 25;
const LENGTHS_WORD = 27;

/** The longest text of one peer: its address, its numbers and its place among those that drain. */
const PEER_BYTES = 512;
const FACTS_BYTES = 1024;

function copyBytes(peers: number): number {
  return FACTS_BYTES + peers * PEER_BYTES;
}

/** Returns where a copy starts, in bytes. */
export function copyAt(copyBytesEach: number, revision: number): number {
  return HEADER_BYTES + (revision & 1) * copyBytesEach;
}

/** Returns the word of the length of a copy. */
export function lengthWord(revision: number): number {
  return LENGTHS_WORD + (revision & 1);
}

/** The members of an upstream. */
export const membershipKind: ZoneKind<MembershipDeclaration> = {
  magic: MEMBERSHIP_MAGIC,
  bytes: ({ peers }) => HEADER_BYTES + 2 * copyBytes(peers),

  fault({ name, peers }) {
    const bytes = membershipKind.bytes({ name, peers, kind: 'membership' });
    if (bytes <= MAX_ZONE_BYTES) return undefined;
    return `zone "${name}" is too large: ${peers} peers need ${bytes} bytes, at most ${MAX_ZONE_BYTES} are allowed`;
  },

  conflict: (later, earlier) =>
    later.peers === earlier.peers ? undefined : `zone "${later.name}" is already declared with another size`,

  format(buffer, { peers }) {
    const words = new Int32Array(buffer);
    words[VERSION_WORD] = MEMBERSHIP_VERSION;
    words[COPY_BYTES_WORD] = copyBytes(peers);
  },

  keeps: (buffer, { peers }) => {
    const words = new Int32Array(buffer);
    return words[VERSION_WORD] === MEMBERSHIP_VERSION && words[COPY_BYTES_WORD] === copyBytes(peers);
  },

  repair: () => undefined,

  leave(buffer, threadId) {
    const words = new Int32Array(buffer);
    clearSeat(words, JOURNAL_SEAT_WORD, threadId);
    clearSeat(words, SOURCE_SEAT_WORD, threadId);
  },
};
