import { constantText } from '../../../config/index.ts';
import type { WorkerScope } from '../../../contract/index.ts';
import { CacheDirectory, CacheMeter, CacheStore, Upkeep } from '../../../cache/index.ts';
import { openCacheIndex, zoneIdentity, type ZoneDeclaration } from '../../../zone/index.ts';
import type { CachePathConfig, ProxyConfig } from '../config.ts';

type CacheFields = Pick<ProxyConfig, 'cache' | 'cachePaths'>;

/** Gives the caches that a location may use: the one it names, or all if a variable names it. */
export function usedCaches({ cache, cachePaths = [] }: CacheFields): readonly CachePathConfig[] {
  const name = constantText(cache);
  if (name === undefined) return cachePaths;
  return name === 'off' || name === '' ? [] : cachePaths.filter((path) => path.name === name);
}

/** Tells whether a location may store responses. */
export function mayCache({ cache }: Pick<ProxyConfig, 'cache'>): boolean {
  const name = constantText(cache);
  return name !== 'off' && name !== '';
}

/** The shared memory of a cache. */
export function zoneOf({ name, sizeBytes, path }: CachePathConfig): ZoneDeclaration {
  return { name, kind: 'cache', sizeBytes, path };
}

/** Opens the caches of a location, each once per worker. */
export function openCaches(config: CacheFields, worker: WorkerScope): ReadonlyMap<string, CacheStore> {
  return new Map(usedCaches(config).map((path) => [path.name, openCache(path, worker)]));
}

function openCache(config: CachePathConfig, worker: WorkerScope): CacheStore {
  const buffer = worker.zone(config.name);
  const owner = zoneIdentity(buffer);
  const threadId = worker.workerId;
  return worker.share(
    `cache ${owner} ${JSON.stringify(config)}`,
    () => {
      const { name: zone, maxBytes } = config;
      const index = openCacheIndex(buffer, threadId);
      const store = new CacheStore({
        name: zone,
        index,
        meter: new CacheMeter(worker.metrics, { zone, index, maxBytes }),
        directory: new CacheDirectory(config, { owner, threadId }),
        log: worker.log,
      });
      return { store, upkeep: new Upkeep(store, config) };
    },
    ({ store, upkeep }) => {
      upkeep.stop();
      store.close();
    },
  ).store;
}
