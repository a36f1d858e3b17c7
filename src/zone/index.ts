export { zoneBytes, zoneConflict, zoneFault } from './declaration.ts';
export type { ZoneDeclaration } from './declaration.ts';
export type { RingEntry, RingEvent } from './entry.ts';
export { EVENT_LIMITS, ringBytes } from './layout.ts';
export { MAX_THREAD_ID } from './lock.ts';
export { openRing } from './ring.ts';
export type { Published, Ring, RingRange } from './ring.ts';
export type { RingFacts, RingSnapshot, SnapshotQuery } from './snapshot.ts';
export { MASTER_ID, createZone, keepsZone, markDead, zoneIdentity } from './zone-memory.ts';
