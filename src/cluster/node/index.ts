export { ClusterNode } from './cluster-node.ts';
export type { KeyChange, KeyedSubject, KeyState } from './keyed-subject.ts';
export { knownMember, type NodeFacts } from './members.ts';
export { clusterMetrics, showCluster } from './metrics.ts';
export { keptNodeId, NODE_ID } from './node-id.ts';
export { type ClusterRecord, type ClusterStatus, conflictText, subjectText } from './status.ts';
export type { AcknowledgedEntry, RemoteEntry, Gap, Subject, Taken } from './subject.ts';
