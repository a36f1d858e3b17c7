export {
  answerSql,
  callSql,
  ELEMENT_SEPARATOR,
  explainSql,
  guessSql,
  responseSettingsSql,
  totalSql,
} from './answer-sql.ts';
export type { AnswerShape, RowForm } from './answer-sql.ts';
export { callSource } from './call-sql.ts';
export { quoteIdentifier } from './identifier.ts';
export { countedSql, rowsSql } from './read-sql.ts';
export { searchPath, settingsWriter } from './settings-sql.ts';
export type { RequestSettings } from './settings-sql.ts';
export { Parameters } from './statement.ts';
export type { BoundValue, Statement } from './statement.ts';
export { locationSql, writeSource, writeSql, UPDATED_SQL } from './write-sql.ts';
export { ROWS } from './writing.ts';
export type { RowSource } from './writing.ts';
