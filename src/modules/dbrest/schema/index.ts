export { CATALOGUE_SQL } from './catalogue.ts';
export { readCatalogue } from './read-catalogue.ts';
export { relationshipsOf } from './relationships.ts';
export type { Cardinality, Relationship } from './relationships.ts';
export { SchemaCache } from './schema-cache.ts';
export { mayUse, mostSimilar, similarTable } from './similar-table.ts';
export type { Column, RowFunction, Schema, Table, TableName } from './types.ts';
