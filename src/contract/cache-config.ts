import type { CachePlan } from '../cache/index.ts';

/** The caches that an `http` block declares. */
export interface CacheConfig {
  readonly paths?: readonly CachePlan[];
}
