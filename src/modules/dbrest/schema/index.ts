export { CatalogueShare, openShare, type Reading, type ShareKey } from './share.ts';
export { CATALOGUE_SQL, schemaOf } from './catalogue.ts';
export { FEATURES_SQL, STATE_SQL } from './functions.ts';
export { CatalogueWriter, type Catalogue } from './entries.ts';
export { CHANGES_TRIGGER } from './relation-draft.ts';
export type { StoredSetting } from './stored-settings.ts';
export { relationshipsOf, type Relationship } from './relationships.ts';
export { SchemaCache } from './cache.ts';
export { mayUse, EVERY_RIGHT, mayBecomeSql, rightsOf, type Rights } from './rights.ts';
export { mostSimilar, similarColumns, similarTable } from './similar-names.ts';
export { qualifiedName, splitModifier } from './type-name.ts';
export type { Privilege, TypeShape } from './discovery.ts';
export type {
  Argument,
  Column,
  Followed,
  Isolation,
  MediaHandler,
  RelationKind,
  RoleSettings,
  RowFunction,
  Schema,
  ServerFeatures,
  StoredFunction,
  Table,
  TableName,
} from './schema.ts';
