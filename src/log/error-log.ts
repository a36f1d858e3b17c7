import type { SyslogTarget } from './syslog-target.ts';

/** nginx's levels, least severe first. */
export const LEVELS = ['debug', 'info', 'notice', 'warn', 'error', 'crit', 'alert', 'emerg'] as const;
export type Level = (typeof LEVELS)[number];

/** Facts of a log line beside its message; printed as nginx prints them: `, client: …, server: …, request: "…"`. */
export interface LogContext {
  /** Serial number of the connection: printed as `*7 ` before the message. */
  readonly connection?: number;
  readonly client?: string;
  readonly server?: string;
  readonly request?: string;
  /** URI of the subrequest in which it happened. */
  readonly subrequest?: string;
  readonly upstream?: string;
  /** As the client sent it. */
  readonly host?: string;
  readonly referrer?: string;
}

/** The error log as modules see it. Messages are one line, lower case; secrets never go in. */
export interface ErrorLog {
  write(level: Level, message: string, context?: LogContext): void;
}

/** An `error_log` directive: a file or a syslog server, and the least severe level that goes there. */
export type ErrorLogTarget = { readonly level: Level } & (
  { readonly path: string } | { readonly syslog: SyslogTarget }
);
