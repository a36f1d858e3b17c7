import type { Counters, Metric } from '../../zone/index.ts';
import type { ClusterStatus } from './status.ts';

const SENT: Metric = {
  name: 'gw_cluster_sent_total',
  help: 'Entries that the store has taken from this node.',
};
const RECEIVED: Metric = {
  name: 'gw_cluster_received_total',
  help: 'Entries of other nodes that were applied.',
};
const DUPLICATES: Metric = {
  name: 'gw_cluster_duplicates_total',
  help: 'Entries that came a second time and were dropped.',
};
const REJECTED: Metric = {
  name: 'gw_cluster_rejected_total',
  help: 'Entries of the store that were not genuine or beyond limits.',
};
const GAPS: Metric = { name: 'gw_cluster_gaps_total', help: 'Times that entries of a stream were missing.' };
const RESYNCS: Metric = {
  name: 'gw_cluster_resyncs_total',
  help: 'Times that a stream was read anew from an earlier entry on, since the store had lost or replaced what was read.',
};
const DROPPED: Metric = {
  name: 'gw_cluster_buffer_dropped_total',
  help: 'Entries that were dropped because the store was away for too long.',
};

const CONFLICTS: Metric = {
  name: 'gw_cluster_conflicts_total',
  help: 'Changes of keys that were given up, since another node had changed them first.',
};

/** The counters of a node. */
export interface ClusterMetrics {
  sent(count: number): void;
  received(count: number): void;
  duplicate(): void;
  rejected(): void;
  gap(): void;
  resynced(): void;
  dropped(count: number): void;
  conflict(): void;
}

export function clusterMetrics(metrics: Counters, cluster: string): ClusterMetrics {
  const of = (metric: Metric) => metrics.counter(metric, { cluster });
  const sent = of(SENT);
  const received = of(RECEIVED);
  const duplicates = of(DUPLICATES);
  const rejected = of(REJECTED);
  const gaps = of(GAPS);
  const resyncs = of(RESYNCS);
  const dropped = of(DROPPED);
  const conflicts = of(CONFLICTS);
  return {
    sent: (count) => sent.add(count),
    received: (count) => received.add(count),
    duplicate: () => duplicates.add(),
    rejected: () => rejected.add(),
    gap: () => gaps.add(),
    resynced: () => resyncs.add(),
    dropped: (count) => dropped.add(count),
    conflict: () => conflicts.add(),
  };
}

const UP: Metric = { name: 'gw_cluster_up', help: 'Whether the store of the cluster can be reached.' };
const MEMBERS: Metric = { name: 'gw_cluster_members', help: 'Live nodes of the cluster, this one included.' };
const LAG: Metric = {
  name: 'gw_cluster_lag_seconds',
  help: 'How long this node has not had all entries of the stream that is furthest behind.',
};
const BUFFER: Metric = { name: 'gw_cluster_buffer_bytes', help: 'Bytes of entries that wait for the store.' };

/** Shows the status of a node as gauges. Returns the function that ends this. */
export function showCluster(
  metrics: Counters,
  cluster: string,
  of: { readonly status: ClusterStatus | undefined },
): () => void {
  const labels = { cluster };
  const show = (metric: Metric, read: (status: ClusterStatus) => number): (() => void) =>
    metrics.collect('gauge', {
      metric,
      labels,
      read: () => {
        const { status } = of;
        return status ? read(status) : Number.NaN;
      },
    });
  const ends = [
    show(UP, ({ state }) => (state === 'up' ? 1 : 0)),
    show(MEMBERS, ({ members_total: members }) => members),
    show(LAG, ({ streams }) => Math.max(0, ...streams.map(({ lag_ms: lagMs }) => lagMs)) / 1000),
    show(BUFFER, ({ buffer_bytes: bytes }) => bytes),
  ];
  return () => {
    for (const end of ends) end();
  };
}
