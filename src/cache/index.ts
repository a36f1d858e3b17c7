export { CacheMeter } from './cache-meter.ts';
export { CacheDirectory } from './directory.ts';
export type { StoredResponse, Variants } from './entry-head.ts';
export { nameOf, variantName, type VariantOf } from './entry-name.ts';
export type { Fill } from './fill.ts';
export { type DecidingHeader, type Lifetime, lifetimeOf, type LifetimeRules, valuesOf } from './lifetime.ts';
export { CacheStore, type Found } from './store.ts';
export { Upkeep } from './upkeep.ts';
export type { StoredEntry } from './stored-entry.ts';
