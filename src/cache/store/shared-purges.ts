import type { Clusters, ZonePurge } from '../../cluster/index.ts';
import type { LogContext } from '../../log/index.ts';
import type { Caches } from './caches.ts';
import type { CacheStore } from './store.ts';

/** The settings of a location for purges in a cluster. */
export interface PurgeSharing {
  /** `cache_purge_cluster`: the cluster whose gateways repeat the purges of this one. */
  readonly purgeCluster?: string;
  /** `cache_purge_on_gap`: the treatment of stored responses after purges of other gateways were missed. */
  readonly purgeOnGap: 'expire' | 'keep';
}

/** The other gateways of a cluster. */
export interface OtherGateways {
  /** Sends purges to them. Never rejects. `context`: the request that purges, for the log. */
  tell(purges: readonly ZonePurge[], context?: LogContext): Promise<void>;
}

interface SharingScope {
  readonly caches: Caches;
  readonly clusters: Clusters;
  own<T>(resource: T, close: (resource: T) => void): T;
}

/**
 * Repeats the purges of other gateways of the cluster in these caches. Returns the gateways that are to get this one's
 * purges; `undefined` if the location names no cluster.
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
