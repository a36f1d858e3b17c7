import type { RingDeclaration, ZoneKind } from './declaration.ts';
import {
  CAPACITY_WORD,
  MAGIC,
  MAGIC_WORD,
  MAX_ZONE_BYTES,
  NEXT_DOUBLE,
  OLDEST_DOUBLE,
  STRIDE_BYTES,
  STRIDE_WORD,
  VERSION,
  VERSION_WORD,
  memoryOf,
  ringBytes,
} from './layout.ts';
import { repairRing } from './repair.ts';

/** Rings of events (worker_events). */
export const ringKind: ZoneKind<RingDeclaration> = {
  magic: MAGIC,
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
    if (later.capacity === earlier.capacity) return undefined;
    return `ring size ${later.capacity} of zone "${later.name}" conflicts with already declared size ${earlier.capacity}`;
  },

  format(buffer, { capacity }) {
    const { u32, f64 } = memoryOf(buffer);
    u32[VERSION_WORD] = VERSION;
    u32[CAPACITY_WORD] = capacity;
    u32[STRIDE_WORD] = STRIDE_BYTES;
    f64[NEXT_DOUBLE] = 1;
    f64[OLDEST_DOUBLE] = 1;
  },

  keeps: (buffer, { capacity }) => ringCapacity(buffer) === capacity,
  repair: (buffer) => repairRing(memoryOf(buffer), ringCapacity(buffer)),
};

/** The capacity of the ring in a zone's memory. Throws when it is none, or of another layout. */
export function ringCapacity(buffer: SharedArrayBuffer): number {
  const words = new Uint32Array(buffer, 0, 4);
  const capacity = words[CAPACITY_WORD];
  const isRing = words[MAGIC_WORD] === MAGIC && words[VERSION_WORD] === VERSION;
  if (!isRing || words[STRIDE_WORD] !== STRIDE_BYTES || capacity === undefined) {
    throw new TypeError('the shared memory does not hold a ring of this layout');
  }
  return capacity;
}
