export {
  answerSql,
  callSql,
  ELEMENT_SEPARATOR,
  explainSql,
  guessSql,
  responseSettingsSql,
  totalSql,
  type AnswerShape,
  type RowForm,
} from './answer-sql.ts';
export { callSource } from './call-sql.ts';
export {
  quoteIdentifier,
  Parameters,
  type BoundValue,
  type Statement,
  ROWS,
  type RowSource,
} from './statement.ts';
export { countedSql, rowsSql } from './read-sql.ts';
export { searchPath, settingsWriter, type RequestSettings } from './settings-sql.ts';
export { locationSql, writeSource, writeSql, UPDATED_SQL } from './write-sql.ts';
