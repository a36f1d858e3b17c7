export { ClusterDictionaries } from './cluster-dictionaries.ts';
export { ClusterEvents } from './cluster-events.ts';
export { ClusterLimits } from './cluster-limits.ts';
export { ClusterPurges } from './cluster-purges.ts';
export { ClusterSessions } from './cluster-sessions.ts';
export { ClusterUpstreams, type LeaseHolder } from './cluster-upstreams.ts';
export type { ZonePurge } from './purge-queue.ts';
export type { Joining, Leaving, Sharing } from './sharing.ts';
export { WorkerCalls } from './worker-calls.ts';
