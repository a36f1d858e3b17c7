export {
  createCounterMemory,
  leaveCounters,
  MAX_BOUNDS,
  withRows,
  type CounterMemory,
  type Labels,
} from './counters/memory.ts';
export { Connections, type ConnectionTotals } from './counters/connections.ts';
export type { Exemplar, ObservedTrace } from './counters/exemplars.ts';
export {
  Counters,
  type Distribution,
  type Metric,
  type MetricFamily,
  type MetricSample,
  type Counter,
  type Gauge,
  type Histogram,
} from './counters/counters.ts';
export {
  openCacheIndex,
  type CacheIndex,
  type IndexFacts,
  type IndexedEntry,
  type Removal,
} from './cache/cache-index.ts';
export type { Purge, PurgeList } from './cache/purges.ts';
export type {
  CarriedMembers,
  DictionaryDeclaration,
  PeersDeclaration,
  RingDeclaration,
  SharedTextDeclaration,
  ZoneDeclaration,
} from './declaration.ts';
export { openDictionary, type Dictionary } from './dictionary/dictionary.ts';
export type { EntryState, SharedEntries } from './dictionary/shared-entries.ts';
export {
  type DictionaryEntry,
  type DictionaryOptions,
  type DictionaryPart,
  type DictionaryValue,
  DictionaryFault,
  fnv1a,
} from './dictionary/entry.ts';
export { readValueText, valueText } from './dictionary/value-text.ts';
export {
  EVENT_LIMITS,
  MAX_RING_ENTRIES,
  type ReceivedEvent,
  ringBytes,
  type RingEntry,
} from './ring/layout.ts';
export { eventFields, readEventFields } from './ring/event-fields.ts';
export { openRequestRates, type RequestRates } from './limits/request-rates.ts';
export { openOpenRequests, type EntryOutcome, type OpenRequests } from './limits/open-requests.ts';
export { keepErrorLine, keepRequestLine, LOG_TAIL } from './log-tail.ts';
export { monotonicMs, type Seat } from './seat.ts';
export { type CheckCell, type Verdict } from './peers/check-cell.ts';
export { MAX_CHECKS } from './peers/kind.ts';
export { CHECKING, PeerTable, type PeerState, UNHEALTHY } from './peers/peer-table.ts';
export { openRing, type Ring } from './ring/ring.ts';
export type { RingFacts } from './ring/snapshot.ts';
export { type KeptEntries, StateFile, stateZone } from './state-file.ts';
export { SharedText } from './shared-text/shared-text.ts';
export {
  createZone,
  keepsZone,
  markDead,
  zoneBytes,
  zoneConflict,
  zoneFault,
  zoneIdentity,
} from './zone-memory.ts';
