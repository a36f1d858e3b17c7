export { type Backend, backendLabel, parseBackend, usesTls, withAccess } from './backend.ts';
export { type Clusters, openClusters } from './clusters.ts';
export type { LeaseHolder } from './cluster-upstreams.ts';
export { ClusterNode } from './cluster-node.ts';
export { isGenuine, type Seal, sealEntry } from './entry.ts';
export { keyedFields } from './keyed-fields.ts';
export type { KeyChange, KeyedSubject, KeyState, KeyWrite } from './keyed-subject.ts';
export { type Inspection, inspectStore, mostNodes } from './inspection.ts';
export { NODE_ID } from './node-id.ts';
export type { OpenCluster } from './open-cluster.ts';
export { openStore } from './open-store.ts';
export { applySchema, type SchemaItem, schemaScript, schemaSql, schemaStatus } from './postgres/index.ts';
export { type ClusterPlan, clusterZone, type SharedLimits } from './plan.ts';
export type { ZonePurge } from './purge-queue.ts';
export { MORE_COMMANDS, STORE_COMMANDS } from './redis-scripts.ts';
export { RedisStore } from './redis-store.ts';
export { type ClusterStatus, subjectText } from './status.ts';
export {
  type ClusterStore,
  type SealedEntry,
  type StoredEntry,
  StoreLost,
  type StoreOwner,
  StoreRefused,
} from './store.ts';
