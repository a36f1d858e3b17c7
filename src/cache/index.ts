export { type Caches, openCaches, openUnattended } from './store/caches.ts';
export { lifetimeOf, type LifetimeRules } from './store/lifetime.ts';
export { type CachePlan, cacheZone } from './store/plan.ts';
export { type OtherGateways, type PurgeSharing, sharePurges } from './store/shared-purges.ts';
export type { CacheStore } from './store/store.ts';
export type { StoredEntry } from './store/stored-entry.ts';
export { cacheAge, type CacheFacts, cacheFacts } from './serving/cache-facts.ts';
export { bypassCache, type CacheRules, type Fetch, serveCached } from './serving/cached-request.ts';
export { explainCache } from './serving/explain-cache.ts';
export { fetchOwn, ownDelivery } from './serving/own-response.ts';
export {
  type CacheBuild,
  type CachePolicy,
  compilePolicy,
  compilePredicate,
  mayCache,
  type OriginCacheConfig,
  type UpstreamCacheConfig,
} from './serving/policy.ts';
export * as cacheReaders from './serving/readers.ts';
export type { CacheValidConfig } from './serving/readers.ts';
export type { AcceptedResponse, Delivery, ResponseKeeper } from './serving/response-keeper.ts';
export { type Part, StoredDelivery, validatorsOf } from './serving/stored-delivery.ts';
