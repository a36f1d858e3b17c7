export { quoteIdentifier } from './identifier.ts';
export { countedSql, readSql, rowsSql } from './read-sql.ts';
export { searchPath, settingsSql } from './settings-sql.ts';
export type { RequestSettings } from './settings-sql.ts';
export { Parameters } from './statement.ts';
export type { Statement } from './statement.ts';
