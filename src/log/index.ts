export { openAccessLog } from './access-log.ts';
export { openNamedLogs, type NamedLogRules, type NamedLogs } from './named-logs.ts';
export {
  LogListeners,
  LEVELS,
  type ErrorLog,
  type ErrorLogTarget,
  type Level,
  type LogContext,
  openErrorLogs,
  type LogFiles,
  type LogWriter,
  tellOperator,
} from './error-log.ts';
export { escapeDefault, escapeJson, isCredential, isSecretParameter, redactQuery } from './log-text.ts';
export { missingHost, openSyslog, parseSyslog, type SyslogTarget } from './syslog/index.ts';
export {
  type HeldLog,
  type HeldLogs,
  identityOf,
  LogOpener,
  openFailure,
  standardStream,
} from './log-file.ts';
export { dateGmt, dateLocal, timeIso8601, timeLocal } from './time.ts';
