import { generationAt } from './entry.ts';
import {
  DROPPED_DOUBLE,
  GENERATION,
  HEADER_BYTES,
  LAST_PUBLISH_DOUBLE,
  CREATED,
  NEXT_DOUBLE,
  OLDEST_DOUBLE,
  RECOVERIES_WORD,
  SEQUENCE_WORD,
  STRIDE_BYTES,
  WAKE_WORD,
  slotOffset,
} from './layout.ts';
import type { Memory } from './layout.ts';

/**
 * Puts a ring in order whose publisher died under the lock: a half-written slot is emptied (what it held is
 * lost and counts as dropped), a whole entry that the header does not know yet counts as published. The
 * caller holds the lock.
 */
export function repairRing(ring: Memory, capacity: number): void {
  emptyHalfWritten(ring, capacity);
  const { f64, i32 } = ring;
  // An odd sequence of the header means that it was being written; it ends even either way.
  Atomics.or(i32, SEQUENCE_WORD, 1);
  const range = entriesOf(ring, capacity);
  const next = Math.max(f64[NEXT_DOUBLE] as number, range.newest + 1);
  const oldest = range.oldest === 0 ? next : range.oldest;
  f64[NEXT_DOUBLE] = next;
  f64[OLDEST_DOUBLE] = oldest;
  f64[DROPPED_DOUBLE] = oldest - 1;
  if (range.newest !== 0) {
    f64[LAST_PUBLISH_DOUBLE] = f64[(slotOffset(range.newest, capacity) + CREATED) >> 3] as number;
  }
  Atomics.add(i32, SEQUENCE_WORD, 1);
  Atomics.add(i32, RECOVERIES_WORD, 1);
  // The dead publisher never announced what may be in the ring now.
  Atomics.add(i32, WAKE_WORD, 1);
  Atomics.notify(i32, WAKE_WORD);
}

function emptyHalfWritten(ring: Memory, capacity: number): void {
  for (let slot = 0; slot < capacity; slot++) {
    const at = HEADER_BYTES + slot * STRIDE_BYTES;
    if ((Atomics.load(ring.i32, at >> 2) & 1) === 0) continue;
    ring.f64[(at + GENERATION) >> 3] = 0;
    Atomics.add(ring.i32, at >> 2, 1);
  }
}

function entriesOf(ring: Memory, capacity: number): { oldest: number; newest: number } {
  let oldest = 0;
  let newest = 0;
  for (let slot = 0; slot < capacity; slot++) {
    const generation = generationAt(ring, HEADER_BYTES + slot * STRIDE_BYTES);
    if (generation === 0) continue;
    if (oldest === 0 || generation < oldest) oldest = generation;
    if (generation > newest) newest = generation;
  }
  return { oldest, newest };
}
