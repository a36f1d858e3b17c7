import type { ComplexValue } from '../../config/index.ts';
import type { NamedLogRules, SyslogTarget } from '../../log/index.ts';

/** How a format escapes the values of variables. */
export type Escape = 'default' | 'json' | 'none';

/** `log_format name [escape=…] string ...`. */
export interface LogFormat {
  readonly name: string;
  readonly escape: Escape;
  readonly value: ComplexValue;
}

/** Which lines go there, and what they look like. */
interface Lines {
  readonly format: string;
  readonly condition?: ComplexValue;
}

/** A log file whose path is known at load time. */
export interface FileTarget extends Lines {
  readonly path: string;
  /** 0: each line is written at once. */
  readonly bufferBytes: number;
  readonly flushMs?: number;
  readonly gzipLevel?: number;
}

/** A log file whose path each request finds out: `name` is what follows the directory. */
export interface NamedTarget extends Lines {
  /** Absolute; no variable leads out of it. */
  readonly directory: string;
  readonly name: ComplexValue;
}

/** A syslog server. */
export interface ServerTarget extends Lines {
  readonly syslog: SyslogTarget;
}

export type LogTarget = { readonly off: true } | FileTarget | NamedTarget | ServerTarget;

/** The access logs of one location. */
export interface AccessLogConfig {
  readonly formats?: readonly LogFormat[];
  readonly logs?: readonly LogTarget[];
  readonly fileCache: NamedLogRules;
}
