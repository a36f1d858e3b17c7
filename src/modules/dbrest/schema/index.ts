export { CatalogueShare, openShare, type Reading, type ShareKey } from './share.ts';
export { CATALOGUE_SQL, schemaOf } from './catalogue.ts';
export { FEATURES_SQL, STATE_SQL } from './functions.ts';
export { CatalogueWriter, type Catalogue } from './entries.ts';
export { CHANGES_TRIGGER } from './relation-draft.ts';
export {
  type StoredSetting,
  qualifiedName,
  splitModifier,
  type Argument,
  type Column,
  type Followed,
  type Isolation,
  type MediaHandler,
  type RelationKind,
  type RoleSettings,
  type RowFunction,
  type Schema,
  type ServerFeatures,
  type StoredFunction,
  type Table,
  type TableName,
} from './schema.ts';
export { relationshipsOf, type Relationship } from './relationships.ts';
export { SchemaCache } from './cache.ts';
export { mayUse, EVERY_RIGHT, mayBecomeSql, rightsOf, type Rights } from './rights.ts';
export { mostSimilar, similarColumns, similarTable } from './similar-names.ts';
export type { Privilege, TypeShape } from './discovery.ts';
