export { openAccessLog } from './access-log.ts';
export { CountedLine } from './counted-line.ts';
export { Outage, OUTAGE_BYTES } from './outage.ts';
export { openNamedLogs, type NamedLogRules, type NamedLogs } from './named-logs.ts';
export { type Level, LEVELS, type LogContext, type LoggedRequest, type LogTag } from './error-line.ts';
export {
  LogListeners,
  type ErrorLog,
  type ErrorLogTarget,
  openErrorLogs,
  type LogFiles,
  type LogWriter,
  tellOperator,
} from './error-log.ts';
export { escapeDefault, escapeJson } from './log-text.ts';
export { isAuthorizationResponse, isSecretName, MASK, passwordsIn, redact } from './secrets.ts';
export { missingHost, openSyslog, parseSyslog, type SyslogTarget } from './syslog/index.ts';
export {
  handOverPipes,
  type HeldLog,
  type HeldLogs,
  identityOf,
  LogOpener,
  openFailure,
  standardStream,
} from './log-file.ts';
export { cutText, jsonString, jsonText, roundedMs } from './json-text.ts';
export { dateGmt, dateLocal, timeIso8601, timeLocal, timeUtc } from './time.ts';
