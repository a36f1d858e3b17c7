import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { LEVELS } from './error-log.ts';
import type { ErrorLog, ErrorLogTarget, Level } from './error-log.ts';
import { errorText } from './error-text.ts';
import { openSink } from './error-sink.ts';
import type { ErrorSink } from './error-sink.ts';
import type { LogListeners } from './log-listeners.ts';
import { errorLogTime } from './time.ts';

/** Error logs that are open in one thread. */
export interface LogFiles extends ErrorLog {
  reopen(): void;
  close(): void;
  writesTo(path: string): boolean;
  /** Some log takes lines of this level. */
  takes(level: Level): boolean;
}

/** Who writes: `tid` is 0 for the master. */
export interface LogWriter {
  readonly prefix: string;
  readonly tid: number;
  readonly listeners?: LogListeners;
}

interface OpenTarget {
  readonly threshold: number;
  readonly sink: ErrorSink;
}

/**
 * Opens the error logs; without a directive `logs/error.log` below the prefix where that directory exists, else stderr. A file
 * that cannot be opened is told on stderr, and its lines go there.
 */
export function openErrorLogs(targets: readonly ErrorLogTarget[] | undefined, writer: LogWriter): LogFiles {
  const logs: readonly OpenTarget[] = (targets ?? [defaultTarget(writer)]).map((target) => ({
    threshold: LEVELS.indexOf(target.level),
    sink: openSink(target, writer.prefix),
  }));
  const author = `${process.pid}#${writer.tid}`;
  return {
    write: (level, message, context) => {
      const severity = LEVELS.indexOf(level);
      const takers = logs.filter(({ threshold }) => severity >= threshold);
      if (takers.length === 0) return;
      const text = `${author}: ${errorText(message, context)}`;
      const line = `${errorLogTime(Date.now())} [${level}] ${text}`;
      for (const { sink } of takers) sink.write(line, severity);
      writer.listeners?.tell(level, text);
    },
    reopen: () => {
      for (const { sink } of logs) sink.reopen();
    },
    close: () => {
      for (const { sink } of logs) sink.close();
    },
    writesTo: (path) => logs.some(({ sink }) => sink.path === path),
    takes: (level) => logs.some(({ threshold }) => LEVELS.indexOf(level) >= threshold),
  };
}

function defaultTarget({ prefix }: LogWriter): ErrorLogTarget {
  const path = existsSync(resolve(prefix, 'logs')) ? 'logs/error.log' : 'stderr';
  return { path, level: 'error' };
}
