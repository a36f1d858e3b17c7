export { type Caches, openCaches, openUnattended } from './caches.ts';
export type { StoredResponse, Variants } from './entry-head.ts';
export { nameOf, variantName, type VariantOf } from './entry-name.ts';
export type { Fill } from './fill.ts';
export { type DecidingHeader, type Lifetime, lifetimeOf, type LifetimeRules, valuesOf } from './lifetime.ts';
export { type CachePlan, cacheZone } from './plan.ts';
export { type OtherGateways, type PurgeSharing, sharePurges } from './shared-purges.ts';
export type { CacheStore, Found } from './store.ts';
export type { StoredEntry } from './stored-entry.ts';
