export { isGenuine, type Seal, sealEntry } from './entry.ts';
export { STORE_COMMANDS } from './redis-scripts.ts';
export { RedisStore } from './redis-store.ts';
export {
  type ClusterStore,
  type SealedEntry,
  type StoredEntry,
  StoreLost,
  type StoreOwner,
  StoreRefused,
} from './store.ts';
