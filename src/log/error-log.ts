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
  readonly upstream?: string;
  readonly host?: string;
}

/** The error log as modules see it. Messages are one line, lower case; secrets never go in. */
export interface ErrorLog {
  write(level: Level, message: string, context?: LogContext): void;
}
