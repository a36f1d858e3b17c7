import type { ErrorLog } from '../../log/index.ts';
import { type Counters, openCacheIndex, zoneIdentity } from '../../zone/index.ts';
import { CacheMeter } from './cache-meter.ts';
import { CacheDirectory } from './directory.ts';
import type { CachePlan } from './plan.ts';
import { CacheStore } from './store.ts';
import { Upkeep } from './upkeep.ts';

/** The parts of a worker that opening a cache needs. */
interface CacheScope {
  readonly workerId: number;
  readonly log: ErrorLog;
  readonly metrics: Counters;
  zone(name: string): SharedArrayBuffer;
  /** Opens a resource once for several configurations of this worker. */
  share<T>(key: string, open: () => T, close: (resource: T) => void): T;
}

/** The caches of a configuration, by their names. */
export type Caches = ReadonlyMap<string, CacheStore>;

/** Opens the caches of a configuration only for reading: no worker looks after their directories. */
export function openUnattended(plans: readonly CachePlan[], scope: CacheScope): Caches {
  return new Map(
    plans.map((plan) => {
      const buffer = scope.zone(plan.name);
      return [plan.name, openStore(plan, { scope, buffer, owner: zoneIdentity(buffer) })];
    }),
  );
}

/** Opens the caches of a configuration. One worker begins to look after each directory. */
export function openCaches(plans: readonly CachePlan[], scope: CacheScope): Caches {
  return new Map(plans.map((plan) => [plan.name, openCache(plan, scope)]));
}

function openCache(plan: CachePlan, scope: CacheScope): CacheStore {
  const buffer = scope.zone(plan.name);
  const owner = zoneIdentity(buffer);
  return scope.share(
    `cache ${owner} ${JSON.stringify(plan)}`,
    () => {
      const store = openStore(plan, { scope, buffer, owner });
      return { store, upkeep: new Upkeep(store, plan) };
    },
    ({ store, upkeep }) => {
      upkeep.stop();
      store.close();
    },
  ).store;
}

function openStore(
  plan: CachePlan,
  { scope, buffer, owner }: { scope: CacheScope; buffer: SharedArrayBuffer; owner: string },
): CacheStore {
  const { workerId: threadId, metrics, log } = scope;
  const { name, maxBytes } = plan;
  const index = openCacheIndex(buffer, threadId);
  return new CacheStore({
    name,
    index,
    meter: new CacheMeter(metrics, { zone: name, index, maxBytes }),
    directory: new CacheDirectory(plan, { owner, threadId }),
    log,
  });
}
