export { type Clusters, openClusters } from './clusters.ts';
export { type Inspection, inspectStore, mostNodes } from './inspection.ts';
export {
  ClusterNode,
  type ClusterStatus,
  conflictText,
  type KeyChange,
  type KeyedSubject,
  type KeyState,
  NODE_ID,
  subjectText,
} from './node/index.ts';
export type { OpenCluster } from './open-cluster.ts';
export { type ClusterPlan, clusterZone, type SharedLimits } from './plan.ts';
export {
  applySchema,
  type Backend,
  backendLabel,
  type ClusterStore,
  isGenuine,
  keyedFields,
  type KeyWrite,
  MORE_COMMANDS,
  openStore,
  parseBackend,
  type SchemaItem,
  schemaScript,
  schemaSql,
  schemaStatus,
  type Seal,
  type SealedEntry,
  sealEntry,
  STORE_COMMANDS,
  type StoredEntry,
  StoreLost,
  type StoreOwner,
  StoreRefused,
  usesTls,
  withAccess,
} from './stores/index.ts';
export type { LeaseHolder, ZonePurge } from './subjects/index.ts';
