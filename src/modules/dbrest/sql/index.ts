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
} from './shape.ts';
export { callSource } from './call.ts';
export {
  quoteIdentifier,
  Parameters,
  type BoundValue,
  type Statement,
  ROWS,
  type RowSource,
} from './statement.ts';
export { countedSql, rowsSql } from './rows.ts';
export { searchPath, settingsWriter, type RequestSettings } from './settings.ts';
export { locationSql, writeSource, writeSql, UPDATED_SQL } from './write.ts';
