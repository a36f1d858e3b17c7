import { closeSync, existsSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { openLogFile, standardStream } from './log-file.ts';
import { redactQuery } from './log-text.ts';
import { openSyslog, type SyslogTarget } from './syslog.ts';
import { systemFailure } from '../system/index.ts';
import { errorLogTime } from './time.ts';

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

/** Is told a line that an error log takes: its message with the facts of the request, without time and level. */
export type LogListener = (level: Level, text: string) => void;

/** Those who hear what the error logs of a thread take. */
export class LogListeners {
  readonly #listeners = new Set<LogListener>();

  /** Gives the end of it. */
  add(listener: LogListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(level: Level, text: string): void {
    for (const listener of this.#listeners) listener(level, text);
  }
}

/** A message with the facts of its request, as nginx ends its lines: one line, and nothing that a terminal would obey. */
function errorText(message: string, context: LogContext | undefined): string {
  const connection = context?.connection === undefined ? '' : `*${context.connection} `;
  return printable(connection + message + describe(context));
}

/** `, client: …, server: …, request: "…"` in nginx's order; secrets in the query are masked. */
function describe(context: LogContext | undefined): string {
  if (!context) return '';
  const { client, server, request, subrequest, upstream, host, referrer } = context;
  return [
    client && `, client: ${client}`,
    server !== undefined && `, server: ${server}`,
    request && `, request: "${redactQuery(request)}"`,
    subrequest && `, subrequest: "${subrequest}"`,
    upstream && `, upstream: "${redactQuery(upstream)}"`,
    host && `, host: "${host}"`,
    referrer && `, referrer: "${redactQuery(referrer)}"`,
  ]
    .filter(Boolean)
    .join('');
}

// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const CONTROL = /[\0-\x1f\x7f-\x9f]/g;

function printable(text: string): string {
  return text.replace(
    CONTROL,
    (character) => `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** What takes whole lines of an error log. Nothing here throws. */
interface ErrorSink {
  /** `stderr` or an absolute path; '' for what is no file. */
  readonly path: string;
  /** `severity` counts from `debug`, 0, to `emerg`. */
  write(line: string, severity: number): void;
  reopen(): void;
  close(): void;
}

const STDERR = 2;
/** What a pipe takes in one piece (PIPE_BUF); the rest of a longer line is cut, as nginx cuts its own. */
const MAX_LINE_BYTES = 4096;
const LINE_END = Buffer.from('\n');
const MOST_SEVERE = LEVELS.length - 1;

/** Opens what an `error_log` directive names. */
function openSink(target: ErrorLogTarget, prefix: string): ErrorSink {
  return 'syslog' in target ? openSyslogSink(target.syslog) : new FileSink(target.path, prefix);
}

function openSyslogSink(target: SyslogTarget): ErrorSink {
  const syslog = openSyslog(target, (trouble) => tellOperator(`syslog: ${trouble}`));
  return {
    path: '',
    write: (line, severity) => syslog.write(line, MOST_SEVERE - severity),
    reopen: () => undefined,
    close: () => void syslog.close(),
  };
}

class FileSink implements ErrorSink {
  readonly path: string;
  #descriptor: number;

  constructor(path: string, prefix: string) {
    this.path = standardStream(path) === STDERR ? 'stderr' : resolve(prefix, path);
    this.#descriptor = this.#open() ?? STDERR;
  }

  write(line: string): void {
    writeLine(this.#descriptor, line);
  }

  /** Goes on in the old file when the new one cannot be opened. */
  reopen(): void {
    const next = this.#open();
    if (next === undefined) return;
    this.close();
    this.#descriptor = next;
  }

  close(): void {
    if (this.#descriptor > STDERR) closeSync(this.#descriptor);
    this.#descriptor = STDERR;
  }

  #open(): number | undefined {
    if (this.path === 'stderr') return STDERR;
    const standard = standardStream(this.path);
    if (standard !== undefined) return standard;
    try {
      return openLogFile(this.path);
    } catch (error) {
      const { errno, message } = error as NodeJS.ErrnoException;
      const failure = errno === undefined ? message : systemFailure('open', this.path, error);
      tellOperator(`could not open error log file: ${failure}`);
      return undefined;
    }
  }
}

function tellOperator(trouble: string): void {
  writeLine(STDERR, `gw: [alert] ${trouble}`);
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
