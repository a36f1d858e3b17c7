import type { ZoneDeclaration } from '../../zone/index.ts';

/** A cache as declared (`proxy_cache_path`); plain data. */
export interface CachePlan {
  readonly name: string;
  readonly sizeBytes: number;
  /** Absolute. */
  readonly path: string;
  readonly levels: readonly number[];
  readonly inactiveMs: number;
  /** 0: no limit. */
  readonly maxBytes: number;
  readonly minFreeBytes: number;
  readonly managerFiles: number;
  readonly managerSleepMs: number;
  readonly managerThresholdMs: number;
  readonly loaderFiles: number;
  readonly loaderSleepMs: number;
  readonly loaderThresholdMs: number;
}

/** The shared memory of a cache. */
export function cacheZone({ name, sizeBytes, path }: CachePlan): ZoneDeclaration {
  return { name, kind: 'cache', sizeBytes, path };
}
