export { openAccessLog } from './access-log.ts';
export type { AccessLog, AccessLogOptions } from './access-log.ts';
export { LEVELS } from './error-log.ts';
export type { ErrorLog, Level, LogContext } from './error-log.ts';
export { escapeDefault, escapeJson } from './escape.ts';
export { openErrorLogs } from './log-files.ts';
export type { ErrorLogTarget, LogFiles, LogWriter } from './log-files.ts';
export { isSecretParameter, redactQuery } from './redact.ts';
export { errorLogTime, timeIso8601, timeLocal } from './time.ts';
