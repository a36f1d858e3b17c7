import { type OpenCluster, subjectText } from '../../../cluster/index.ts';
import type { WorkerScope } from '../../../contract/index.ts';
import type { ClusterPage, ClusterState } from './contract.ts';

/** Returns the clusters of a configuration, as the console shows them. */
export function clusterPage({ clusters }: WorkerScope): ClusterPage {
  return { clusters: [...clusters.values()].map(stateOf) };
}

function stateOf({ plan, nodeId, status }: OpenCluster): ClusterState {
  const known = { name: plan.name, nodeId, mostBufferBytes: plan.bufferBytes };
  if (!status)
    return {
      ...known,
      state: 'starting',
      nodesTotal: 0,
      nodes: [],
      streams: [],
      conflicts: [],
      warnings: [],
      bufferBytes: 0,
    };
  const { backend, state, reason, members, members_total: nodesTotal, streams, conflicts, warnings } = status;
  return {
    ...known,
    store: backend,
    state,
    ...(reason !== undefined && { reason }),
    nodesTotal,
    nodes: members.map(({ node_id: name, version, age_ms: ageMs }) => ({ name, version, ageMs })),
    streams: streams.map(({ stream, position, lag_ms: lagMs, gaps }) => ({
      name: stream,
      subject: subjectText(stream),
      position,
      lagMs,
      gaps,
    })),
    conflicts: conflicts.map(({ stream, node_id: node }) => ({ subject: subjectText(stream), node })),
    warnings,
    bufferBytes: status.buffer_bytes,
  };
}
