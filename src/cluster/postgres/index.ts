export { PostgresStore } from './postgres-store.ts';
export { schemaSql } from './schema-sql.ts';
