export { type CacheFacts, cacheFacts } from './cache-facts.ts';
export { type CacheRules, type Fetch, type FetchMode, serveCached } from './cached-request.ts';
export { explainCache } from './explain-cache.ts';
export { LockQueue } from './lock-queue.ts';
export {
  type CachePolicy,
  compilePolicy,
  compilePredicate,
  mayCache,
  type OriginCacheConfig,
  type UpstreamCacheConfig,
} from './policy.ts';
export * as cacheReaders from './readers.ts';
export type { AcceptedResponse, Delivery, ResponseKeeper, StoredSource } from './response-keeper.ts';
export { type Part, StoredDelivery } from './stored-delivery.ts';
export { fetchOwn, ownDelivery, type Respond } from './own-response.ts';
