export { openAccessLog, type AccessLog, type AccessLogOptions } from './access-log.ts';
export { openNamedLogs, type NamedLogRules, type NamedLogs } from './named-logs.ts';
export {
  LogListeners,
  type LogListener,
  LEVELS,
  type ErrorLog,
  type ErrorLogTarget,
  type Level,
  type LogContext,
  openErrorLogs,
  type LogFiles,
  type LogWriter,
} from './error-log.ts';
export { escapeDefault, escapeJson, isCredential, isSecretParameter, redactQuery } from './log-text.ts';
export { parseSyslog, type SyslogServer, type SyslogTarget, openSyslog, type Syslog } from './syslog.ts';
export { standardStream } from './log-file.ts';
export { dateGmt, dateLocal, errorLogTime, timeIso8601, timeLocal } from './time.ts';
