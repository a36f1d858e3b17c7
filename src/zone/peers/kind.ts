import type { PeersDeclaration, ZoneKind } from '../declaration.ts';
import { HEADER_BYTES, MAX_ZONE_BYTES, VERSION_WORD } from '../header.ts';
import { clearSeat } from '../seat.ts';

/*
 * The peers of one upstream in shared memory. Little endian, offsets in 32-bit words.
 *
 *   header   the part that all zones share, then 1 u32 version   2 u32 slots   3 u32 threads
 *            20 and 21 the seat of the thread that looks after the group
 *   slot     0 digest of the peer's key (4 words, 0 0 0 0: never used)   4 uses   5 requests at this moment
 *            6 current weight   7 effective weight   8 fails   9 accessed (s)   10 checked (s)   11 exclusions
 *            12 f64 start of its slow start (ms; 0: none)   14 f64 mean time to the head (ms; 0: unknown)
 *            16 f64 mean time to the last byte   18 picks   19 failures   20 weight
 *            21 requests in a row that failed
 *            32 a cell for each active check of the peer: see `check-cell.ts`
 *   column   one per thread id, behind all slots: for each slot its uses, its requests and (f64) the sum of the start
 *            times (ms) of these requests, by that thread alone, so that what a dead thread held can be given back
 *
 * Times are those of the monotonic clock that all threads share. The lock guards claims, weights and means; uses and
 * requests change by atomic additions.
 */

const PEERS_MAGIC = 0x6777_7031;
const PEERS_VERSION = 4;
export const SLOTS_WORD = 2;
export const THREADS_WORD = 3;
export const SEAT_WORD = 20;

const FIRST_SLOT_WORD = HEADER_BYTES / 4;
/** A peer has at most `MAX_CHECKS` active checks; those of two configurations fit in during a reload. */
export const MAX_CHECKS = 4;
export const CHECK_CELLS = 2 * MAX_CHECKS;
export const CHECK_WORDS = 14;
export const FIRST_CHECK = 32;
export const SLOT_WORDS = FIRST_CHECK + CHECK_CELLS * CHECK_WORDS;
export const DIGEST_WORDS = 4;
export const USES = 4;
export const REQUESTS = 5;
export const CURRENT_WEIGHT = 6;
export const EFFECTIVE_WEIGHT = 7;
export const FAILS = 8;
export const ACCESSED = 9;
export const CHECKED = 10;
export const EXCLUSIONS = 11;
export const SLOW_START_FROM = 12;
export const HEAD_MEAN = 14;
export const LAST_BYTE_MEAN = 16;
export const PICKS = 18;
export const FAILURES = 19;
export const WEIGHT = 20;
export const STREAK = 21;

/** Per slot and thread: uses, requests, sum of start times. */
export const CELL_WORDS = 4;
export const CELL_STARTS = 2;

/** Returns the size of the shared memory in bytes. */
function peersBytes({ slots, threads }: Pick<PeersDeclaration, 'slots' | 'threads'>): number {
  return HEADER_BYTES + slots * 4 * (SLOT_WORDS + CELL_WORDS * threads);
}

/** Returns the index of a slot's first word. */
export function slotAt(index: number): number {
  return FIRST_SLOT_WORD + index * SLOT_WORDS;
}

/** Returns the index of the first word of a thread's cell for a slot. */
export function cellAt(slots: number, { threadId, index }: { threadId: number; index: number }): number {
  return FIRST_SLOT_WORD + slots * SLOT_WORDS + (threadId * slots + index) * CELL_WORDS;
}

/** Peers of an upstream. */
export const peersKind: ZoneKind<PeersDeclaration> = {
  magic: PEERS_MAGIC,
  bytes: peersBytes,

  fault({ name, slots, threads }) {
    const bytes = peersBytes({ slots, threads });
    if (bytes <= MAX_ZONE_BYTES) return undefined;
    return `zone "${name}" is too large: ${slots} peers need ${bytes} bytes, at most ${MAX_ZONE_BYTES} are allowed`;
  },

  conflict: (later, earlier) =>
    later.slots === earlier.slots && later.threads === earlier.threads
      ? undefined
      : `zone "${later.name}" is already declared with another size`,

  format(buffer, { slots, threads }) {
    const words = new Int32Array(buffer);
    words[VERSION_WORD] = PEERS_VERSION;
    words[SLOTS_WORD] = slots;
    words[THREADS_WORD] = threads;
  },

  keeps: (buffer, { slots, threads }) => {
    const words = new Int32Array(buffer);
    const isSame = words[SLOTS_WORD] === slots && words[THREADS_WORD] === threads;
    return isSame && words[VERSION_WORD] === PEERS_VERSION;
  },

  // The last change of weights and failures by the dead thread may be missing. They recover by themselves.
  repair: () => undefined,

  leave(buffer, threadId) {
    const words = new Int32Array(buffer);
    const slots = words[SLOTS_WORD] as number;
    clearSeat(words, SEAT_WORD, threadId);
    if (threadId >= (words[THREADS_WORD] as number)) return;
    for (let index = 0; index < slots; index++) {
      const cell = cellAt(slots, { threadId, index });
      Atomics.sub(words, slotAt(index) + USES, Atomics.exchange(words, cell, 0));
      Atomics.sub(words, slotAt(index) + REQUESTS, Atomics.exchange(words, cell + 1, 0));
      words.fill(0, cell + CELL_STARTS, cell + CELL_WORDS);
    }
  },
};
