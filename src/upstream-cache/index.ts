export { type CacheFacts, cacheFacts } from './cache-facts.ts';
export { bypassCache, type CacheRules, type Fetch, serveCached } from './cached-request.ts';
export { explainCache } from './explain-cache.ts';
export {
  type CacheBuild,
  type CachePolicy,
  compilePolicy,
  compilePredicate,
  mayCache,
  type OriginCacheConfig,
  type UpstreamCacheConfig,
} from './policy.ts';
export * as cacheReaders from './readers.ts';
export type { CacheValidConfig } from './readers.ts';
export type { AcceptedResponse, Delivery, ResponseKeeper } from './response-keeper.ts';
export { type Part, StoredDelivery, validatorsOf } from './stored-delivery.ts';
export { fetchOwn, ownDelivery } from './own-response.ts';
