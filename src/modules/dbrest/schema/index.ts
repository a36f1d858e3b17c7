export { CATALOGUE_SQL, readCatalogue } from './catalogue.ts';
export { SchemaCache } from './schema-cache.ts';
export { similarTable } from './similar-table.ts';
export type { Column, Schema, Table } from './types.ts';
