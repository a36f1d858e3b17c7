export { createCounterMemory, leaveCounters, withRows } from './counters/memory.ts';
export type { CounterMemory } from './counters/memory.ts';
export { Connections } from './counters/connections.ts';
export type { ConnectionTotals } from './counters/connections.ts';
export { Counters } from './counters/counters.ts';
export type { Distribution, Metric, MetricFamily, MetricSample } from './counters/counters.ts';
export type { Labels } from './counters/directory.ts';
export type { Counter, Gauge, Histogram } from './counters/meters.ts';
export type {
  ConnectionLimitDeclaration,
  DictionaryDeclaration,
  RequestLimitDeclaration,
  PeersDeclaration,
  RingDeclaration,
  ZoneDeclaration,
} from './declaration.ts';
export { openDictionary } from './dictionary/dictionary.ts';
export type { Dictionary } from './dictionary/dictionary.ts';
export type {
  DictionaryEntry,
  DictionaryFacts,
  DictionaryOptions,
  DictionaryPart,
  DictionaryValue,
} from './dictionary/entry.ts';
export { DictionaryFault } from './dictionary/fault.ts';
export type { DictionaryRefusal } from './dictionary/fault.ts';
export { fnv1a } from './dictionary/fnv1a.ts';
export type { RingEntry, RingEvent } from './entry.ts';
export { EVENT_LIMITS, ringBytes } from './layout.ts';
export { admit } from './limits/admit.ts';
export type { Admission, RateLimit } from './limits/admit.ts';
export { openOpenRequests } from './limits/open-requests.ts';
export type { Entrance, OpenRequests } from './limits/open-requests.ts';
export { openRequestRates } from './limits/request-rates.ts';
export type { RequestRates } from './limits/request-rates.ts';
export { MAX_THREAD_ID } from './lock.ts';
export { keepErrorLine, keepRequestLine, LOG_TAIL } from './log-tail.ts';
export { PeerTable } from './peers/peer-table.ts';
export type { PeerState } from './peers/peer-table.ts';
export { openRing } from './ring.ts';
export type { Published, Ring, RingRange } from './ring.ts';
export type { RingFacts, RingSnapshot, SnapshotQuery } from './snapshot.ts';
export {
  MASTER_ID,
  createZone,
  keepsZone,
  markDead,
  zoneBytes,
  zoneConflict,
  zoneFault,
  zoneIdentity,
} from './zone-memory.ts';
