import { randomFillSync } from 'node:crypto';
import { zoneBytes } from './declaration.ts';
import type { ZoneDeclaration } from './declaration.ts';
import {
  CAPACITY_WORD,
  IDENTITY_WORD,
  MAGIC,
  MAGIC_WORD,
  NEXT_DOUBLE,
  OLDEST_DOUBLE,
  STRIDE_BYTES,
  STRIDE_WORD,
  VERSION,
  VERSION_WORD,
  memoryOf,
} from './layout.ts';
import { ZoneLock, clearAlive, setAlive } from './lock.ts';
import { repairRing } from './repair.ts';

/** The master's own thread id in a zone; workers count from 1. */
export const MASTER_ID = 0;

/** Allocates a zone with an empty ring, once, in the master; workers get the buffer and open it. */
export function createZone(declaration: ZoneDeclaration): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(zoneBytes(declaration));
  const { u32, f64, bytes } = memoryOf(buffer);
  u32[MAGIC_WORD] = MAGIC;
  u32[VERSION_WORD] = VERSION;
  u32[CAPACITY_WORD] = declaration.capacity;
  u32[STRIDE_WORD] = STRIDE_BYTES;
  f64[NEXT_DOUBLE] = 1;
  f64[OLDEST_DOUBLE] = 1;
  bytes.set(randomFillSync(new Uint8Array(8)), IDENTITY_WORD * 4);
  setAlive(new Int32Array(buffer), MASTER_ID);
  return buffer;
}

/** True when a reload may go on with this memory, content included, for a zone of the same name. */
export function keepsZone(buffer: SharedArrayBuffer, declaration: ZoneDeclaration): boolean {
  return buffer.byteLength === zoneBytes(declaration) && ringCapacity(buffer) === declaration.capacity;
}

/** A text that tells this memory from that of any other zone, also of one that had the same name and size. */
export function zoneIdentity(buffer: SharedArrayBuffer): string {
  return Buffer.from(buffer, IDENTITY_WORD * 4, 8).toString('hex');
}

/** The capacity of the ring in a zone's memory. Throws when it is none, or of another layout. */
export function ringCapacity(buffer: SharedArrayBuffer): number {
  const [magic, version, capacity, stride] = new Uint32Array(buffer, 0, 4);
  if (magic !== MAGIC || version !== VERSION || stride !== STRIDE_BYTES || capacity === undefined) {
    throw new TypeError('the shared memory does not hold a ring of this layout');
  }
  return capacity;
}

/**
 * For the master, when a worker thread has exited and before another gets its id: frees the zone from a lock
 * that the thread held when it died, and puts the ring in order.
 */
export function markDead(buffer: SharedArrayBuffer, threadId: number): void {
  const memory = memoryOf(buffer);
  const capacity = ringCapacity(buffer);
  clearAlive(memory.i32, threadId);
  new ZoneLock(memory.i32, MASTER_ID, () => repairRing(memory, capacity)).takeOver(threadId);
}
