export { CatalogueShare, openShare } from './catalogue-share.ts';
export type { Reading, ShareKey } from './catalogue-share.ts';
export { CATALOGUE_SQL } from './catalogue.ts';
export { CatalogueWriter } from './catalogue-text.ts';
export type { Catalogue } from './catalogue-text.ts';
export { inSlices } from './in-slices.ts';
export { schemaOf } from './read-catalogue.ts';
export { relationshipsOf } from './relationships.ts';
export type { Cardinality, Relationship } from './relationships.ts';
export { SchemaCache } from './schema-cache.ts';
export { mayUse, mostSimilar, similarTable } from './similar-table.ts';
export { EVERY_RIGHT, rightsOf } from './rights.ts';
export type { Rights } from './rights.ts';
export type { Access, Namespace, Privilege, TypeShape } from './discovery.ts';
export type {
  Argument,
  Column,
  MediaHandler,
  Returned,
  RoleSettings,
  RowFunction,
  Schema,
  StoredFunction,
  Table,
  TableName,
  UniqueIndex,
} from './types.ts';
