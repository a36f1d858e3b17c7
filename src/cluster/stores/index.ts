export { type Backend, backendLabel, parseBackend, usesTls, withAccess } from './backend.ts';
export { isGenuine, madeMsOf, type Seal, sealEntry, secretDigest } from './entry.ts';
export { keyedFields, type KeyWrite, keyWriteOf, MAX_KEYED_BYTES } from './keyed-fields.ts';
export { openStore } from './open-store.ts';
export { applySchema, type SchemaItem, schemaScript, schemaSql, schemaStatus } from './postgres/index.ts';
export { MORE_COMMANDS, STORE_COMMANDS } from './redis/index.ts';
export {
  type Admitting,
  type Counted,
  type Counting,
  type ClusterStore,
  type Conflict,
  type Grant,
  type Heard,
  type Member,
  type SealedEntry,
  type StoredEntry,
  type StreamState,
  StoreLost,
  type StoreOwner,
  StoreRefused,
} from './store.ts';
