export { quoteIdentifier } from './identifier.ts';
export { readSql } from './read-sql.ts';
export { searchPath, settingsSql } from './settings-sql.ts';
export type { RequestSettings } from './settings-sql.ts';
export type { Statement } from './statement.ts';
