export { PostgresStore } from './postgres-store.ts';
export { schemaScript, schemaSql } from './schema-sql.ts';
export { applySchema, type SchemaItem, schemaStatus } from './setup.ts';
