import type { Clusters, ZonePurge } from '../../cluster/index.ts';
import type { Caches } from './caches.ts';
import type { CacheStore } from './store.ts';

/** What a location says about purges of other gateways. */
export interface PurgeSharing {
  /** `cache_purge_cluster`: the cluster whose gateways purge what is purged here. */
  readonly purgeCluster?: string;
  /** `cache_purge_on_gap`: what becomes of stored responses when purges of others were missed. */
  readonly purgeOnGap: 'expire' | 'keep';
}

/** The other gateways of a cluster. */
export interface OtherGateways {
  /** Lets them do purges. Never rejects. */
  tell(purges: readonly ZonePurge[]): Promise<void>;
}

interface SharingScope {
  readonly caches: Caches;
  readonly clusters: Clusters;
  own<T>(resource: T, close: (resource: T) => void): T;
}

/**
 * Does what others of the cluster purge in these caches, and gives those who are to be told of purges; `undefined` if the location
 * names no cluster.
 */
export function sharePurges(
  stores: readonly CacheStore[],
  { purgeCluster, purgeOnGap }: PurgeSharing,
  scope: SharingScope,
): OtherGateways | undefined {
  const cluster = purgeCluster === undefined ? undefined : scope.clusters.get(purgeCluster);
  if (!cluster) return undefined;
  const zones = new Set(stores.map(({ name }) => name));
  const shared = { caches: scope.caches, zones, empties: purgeOnGap === 'expire' };
  scope.own(cluster.purges.share(shared), (end) => end());
  return cluster.purges;
}
