import type { RingDeclaration, ZoneKind } from '../declaration.ts';
import {
  HEADER_BYTES,
  MAGIC_WORD,
  MAX_ZONE_BYTES,
  type Memory,
  memoryOf,
  RECOVERIES_WORD,
  VERSION_WORD,
} from '../header.ts';
import { announce } from '../wake-up.ts';
import {
  CAPACITY_WORD,
  CREATED,
  DROPPED_DOUBLE,
  GENERATION,
  generationAt,
  LAST_PUBLISH_DOUBLE,
  NEXT_DOUBLE,
  OLDEST_DOUBLE,
  POSITION,
  POSITION_DOUBLE,
  RING_MAGIC,
  RING_VERSION,
  ringBytes,
  SEQUENCE_WORD,
  slotOffset,
  STRIDE_BYTES,
  STRIDE_WORD,
  WAKE_WORD,
} from './layout.ts';

/**
 * Repairs a ring whose publisher died while holding the lock. A half-written slot is emptied, and its entry counts as
 * dropped; a complete entry that the header does not include yet counts as published, and the position of the ring
 * follows it: a received event is in the ring, or will be received again. The caller holds the lock.
 */
export function repairRing(ring: Memory, capacity: number): void {
  emptyHalfWritten(ring, capacity);
  const { f64, i32 } = ring;
  // An odd sequence number means that the header was being written. It becomes even in either case.
  const wasOdd = (Atomics.or(i32, SEQUENCE_WORD, 1) & 1) !== 0;
  const range = entriesOf(ring, capacity);
  const isHeaderBehind = wasOdd || range.newest >= (f64[NEXT_DOUBLE] as number);
  const next = Math.max(f64[NEXT_DOUBLE] as number, range.newest + 1);
  const oldest = range.oldest === 0 ? next : range.oldest;
  f64[NEXT_DOUBLE] = next;
  f64[OLDEST_DOUBLE] = oldest;
  f64[DROPPED_DOUBLE] = oldest - 1;
  if (range.newest !== 0) {
    const newest = slotOffset(range.newest, capacity);
    f64[LAST_PUBLISH_DOUBLE] = f64[(newest + CREATED) >> 3] as number;
    // In the other case, the position may have moved since the newest entry.
    if (isHeaderBehind) f64[POSITION_DOUBLE] = f64[(newest + POSITION) >> 3] as number;
  }
  Atomics.add(i32, SEQUENCE_WORD, 1);
  Atomics.add(i32, RECOVERIES_WORD, 1);
  // The dead publisher has not announced its last entry.
  announce(i32, WAKE_WORD);
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

/** Rings of events (worker_events). */
export const ringKind: ZoneKind<RingDeclaration> = {
  magic: RING_MAGIC,
  bytes: ({ capacity }) => ringBytes(capacity),

  fault({ name, capacity, sizeBytes }) {
    const bytes = ringBytes(capacity);
    const need = `a ring of ${capacity} ${capacity === 1 ? 'entry' : 'entries'} needs ${bytes} bytes`;
    if (bytes > MAX_ZONE_BYTES)
      return `zone "${name}" is too large: ${need}, at most ${MAX_ZONE_BYTES} are allowed`;
    if (sizeBytes !== undefined && sizeBytes < bytes)
      return `zone "${name}" is too small: ${need}, ${sizeBytes} given`;
    return undefined;
  },

  conflict(later, earlier) {
    if (later.capacity !== earlier.capacity)
      return `ring size ${later.capacity} of zone "${later.name}" conflicts with already declared size ${earlier.capacity}`;
    if (later.cluster === earlier.cluster) return undefined;
    const [mine, its] = [later, earlier].map(({ cluster }) =>
      cluster === undefined ? 'no cluster' : `cluster "${cluster}"`,
    );
    return `zone "${later.name}" is shared by ${mine}, but was declared for ${its}`;
  },

  format(buffer, { capacity }) {
    const { u32, f64 } = memoryOf(buffer);
    u32[VERSION_WORD] = RING_VERSION;
    u32[CAPACITY_WORD] = capacity;
    u32[STRIDE_WORD] = STRIDE_BYTES;
    f64[NEXT_DOUBLE] = 1;
    f64[OLDEST_DOUBLE] = 1;
  },

  keeps: (buffer, { capacity }) => ringCapacity(buffer) === capacity,
  repair: (buffer) => repairRing(memoryOf(buffer), ringCapacity(buffer)),
};

/** Returns the capacity of the ring in a zone's memory. Throws if it is not a ring or has another layout. */
export function ringCapacity(buffer: SharedArrayBuffer): number {
  const words = new Uint32Array(buffer, 0, 4);
  const capacity = words[CAPACITY_WORD];
  const isRing = words[MAGIC_WORD] === RING_MAGIC && words[VERSION_WORD] === RING_VERSION;
  if (!isRing || words[STRIDE_WORD] !== STRIDE_BYTES || capacity === undefined) {
    throw new TypeError('the shared memory does not hold a ring of this layout');
  }
  return capacity;
}
