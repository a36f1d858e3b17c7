import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { LEVELS } from './error-log.ts';
import type { ErrorLog, Level, LogContext } from './error-log.ts';
import type { LogListeners } from './log-listeners.ts';
import { redactQuery } from './redact.ts';
import { errorLogTime } from './time.ts';

/** An `error_log` directive. */
export interface ErrorLogTarget {
  readonly path: string;
  readonly level: Level;
}

/** Error logs that are open in one thread. */
export interface LogFiles extends ErrorLog {
  reopen(): void;
  close(): void;
  writesTo(path: string): boolean;
}

/** Who writes: `tid` is 0 for the master. */
export interface LogWriter {
  readonly prefix: string;
  readonly tid: number;
  readonly listeners?: LogListeners;
}

const STDERR = 2;
/** What a pipe takes in one piece (PIPE_BUF); the rest of a longer line is cut, as nginx cuts its own. */
const MAX_LINE_BYTES = 4096;
const LINE_END = Buffer.from('\n');

/**
 * Opens the error logs; without a directive `logs/error.log` below the prefix where that directory exists, else stderr. A file
 * that cannot be opened is told on stderr, and its lines go there.
 */
export function openErrorLogs(targets: readonly ErrorLogTarget[] | undefined, writer: LogWriter): LogFiles {
  const files = (targets ?? [defaultTarget(writer)]).map((target) => new LogFile(target, writer));
  const author = `${process.pid}#${writer.tid}`;
  return {
    write: (level, message, context) => {
      const takers = files.filter((file) => file.takes(level));
      if (takers.length === 0) return;
      const text = `${author}: ${textOf(message, context)}`;
      for (const file of takers) file.write(level, text);
      writer.listeners?.tell(level, text);
    },
    reopen: () => {
      for (const file of files) file.reopen();
    },
    close: () => {
      for (const file of files) file.close();
    },
    writesTo: (path) => files.some((file) => file.path === path),
  };
}

function defaultTarget({ prefix }: LogWriter): ErrorLogTarget {
  const path = existsSync(resolve(prefix, 'logs')) ? 'logs/error.log' : 'stderr';
  return { path, level: 'error' };
}

class LogFile {
  readonly path: string;
  readonly #threshold: number;
  #descriptor: number;

  constructor({ path, level }: ErrorLogTarget, { prefix }: LogWriter) {
    this.path = path === 'stderr' || path === '/dev/stderr' ? 'stderr' : resolve(prefix, path);
    this.#threshold = LEVELS.indexOf(level);
    this.#descriptor = this.#open() ?? STDERR;
  }

  takes(level: Level): boolean {
    return LEVELS.indexOf(level) >= this.#threshold;
  }

  write(level: Level, text: string): void {
    writeLine(this.#descriptor, `${errorLogTime(Date.now())} [${level}] ${text}`);
  }

  /** Goes on in the old file when the new one cannot be opened. */
  reopen(): void {
    const next = this.#open();
    if (next === undefined) return;
    this.close();
    this.#descriptor = next;
  }

  close(): void {
    if (this.#descriptor !== STDERR) closeSync(this.#descriptor);
    this.#descriptor = STDERR;
  }

  #open(): number | undefined {
    if (this.path === 'stderr') return STDERR;
    try {
      return openSync(this.path, 'a', 0o644);
    } catch (error) {
      writeLine(STDERR, `gw: [alert] could not open error log file: ${(error as Error).message}`);
      return undefined;
    }
  }
}

/** One write per line: lines of several threads and processes never mix. */
function writeLine(descriptor: number, line: string): void {
  const bytes = Buffer.from(line);
  try {
    writeSync(descriptor, Buffer.concat([bytes.subarray(0, endOfLine(bytes)), LINE_END]));
  } catch {
    // Nobody is left to tell.
  }
}

/** Where a line must be cut, never inside a UTF-8 character. */
function endOfLine(bytes: Buffer): number {
  let end = MAX_LINE_BYTES - LINE_END.length;
  if (bytes.length <= end) return bytes.length;
  while (((bytes[end] as number) & 0xc0) === 0x80) end--;
  return end;
}

function textOf(message: string, context: LogContext | undefined): string {
  const connection = context?.connection === undefined ? '' : `*${context.connection} `;
  return printable(connection + message + describe(context));
}

/** `, client: …, server: …, request: "…"`, as nginx ends its lines; secrets in the query are masked. */
function describe(context: LogContext | undefined): string {
  if (!context) return '';
  const { client, server, request, upstream, host } = context;
  return [
    client && `, client: ${client}`,
    server !== undefined && `, server: ${server}`,
    request && `, request: "${redactQuery(request)}"`,
    upstream && `, upstream: "${redactQuery(upstream)}"`,
    host && `, host: "${host}"`,
  ]
    .filter(Boolean)
    .join('');
}

// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const CONTROL = /[\0-\x1f\x7f-\x9f]/g;

/** One line, and nothing that a terminal would obey. */
function printable(text: string): string {
  return text.replace(
    CONTROL,
    (character) => `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
