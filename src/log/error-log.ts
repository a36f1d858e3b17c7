import { closeSync, existsSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  identityOf,
  LogOpener,
  makePrompt,
  mayWait,
  openFailure,
  openPrompt,
  standardStream,
} from './log-file.ts';
import {
  type ErrorLine,
  errorText,
  jsonLine,
  type Level,
  LEVELS,
  type LogContext,
  MAX_LINE_BYTES,
  textLine,
} from './error-line.ts';
import { RepeatedLines } from './repeated-lines.ts';
import { openSyslog, type SyslogTarget } from './syslog/index.ts';

/** The error log as modules see it. Messages are one line in lower case, and never contain secrets. */
export interface ErrorLog {
  write(level: Level, message: string, context?: LogContext): void;
}

/** An `error_log` directive: a file or a syslog server, the least severe level that is written, and the format. */
export type ErrorLogTarget = { readonly level: Level; readonly format?: 'json' } & (
  { readonly path: string } | { readonly syslog: SyslogTarget }
);

/** Receives a line that an error log writes, and its text: author, message and fields, without time and level. */
type LogListener = (level: Level, text: string, line: ErrorLine) => void;

/** The listeners of a thread's error logs. */
export class LogListeners {
  readonly #listeners = new Set<LogListener>();

  /** Adds a listener. Returns the function that removes it. */
  add(listener: LogListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(text: string, line: ErrorLine): void {
    for (const listener of this.#listeners) listener(line.level, text, line);
  }
}

/** A destination of error log lines. Its methods never throw. */
interface ErrorSink {
  /** `stderr` or an absolute path; '' for a syslog server. */
  readonly path: string;
  /** `severity` is the index of the level, from `debug` (0) to `emerg`. Returns false if the line is lost. */
  write(line: string, severity: number): boolean;
  /** Reopens the file. On failure it keeps the old file and returns the reason. */
  reopen(): string | undefined;
  close(): void;
}

const STDOUT = 1;
const STDERR = 2;
/** The name of syslog servers in metrics. */
const SYSLOG = 'syslog';
const LINE_END = Buffer.from('\n');
const LOST: Level = 'error';
const MOST_SEVERE = LEVELS.length - 1;

/** Opens the destination of an `error_log` directive. */
function openSink(target: ErrorLogTarget, writer: LogWriter): ErrorSink {
  return 'syslog' in target ? openSyslogSink(target.syslog, writer) : new FileSink(target.path, writer);
}

function openSyslogSink(target: SyslogTarget, { dropped }: LogWriter): ErrorSink {
  const syslog = openSyslog(target, {
    tell: (trouble) => tellOperator(`syslog: ${trouble}`, 'error'),
    dropped: () => dropped?.(SYSLOG, 1),
  });
  return {
    path: '',
    write: (line, severity) => {
      syslog.write(line, MOST_SEVERE - severity);
      return true;
    },
    reopen: () => undefined,
    close: () => void syslog.close(),
  };
}

class FileSink implements ErrorSink {
  readonly path: string;
  readonly #opener: LogOpener;
  /** Absent while nothing is written: the file could not be opened, which is still to be reported. */
  #descriptor: number | undefined;

  constructor(path: string, { prefix, opener = new LogOpener(), opensLater = false }: LogWriter) {
    this.path = standardStream(path) === STDERR ? 'stderr' : resolve(prefix, path);
    this.#opener = opener;
    const opened = this.#open();
    if (typeof opened === 'number') this.#descriptor = opened;
    else if (!opensLater) {
      tellOperator(`could not open error log file: ${opened}`);
      this.#descriptor = STDERR;
    }
  }

  write(line: string): boolean {
    return this.#descriptor !== undefined && writeLine(promptOf(this.#descriptor), line);
  }

  /** Keeps the old file if the new one cannot be opened, or is the same. */
  reopen(): string | undefined {
    const before = this.#descriptor;
    const next = this.#open();
    if (typeof next === 'string') {
      this.#descriptor ??= STDERR;
      return next;
    }
    if (next === before) return undefined;
    const isSame = before !== undefined && identityOf(next) === identityOf(before);
    const left = isSame ? next : before;
    if (!isSame) this.#descriptor = next;
    if (left !== undefined && left > STDERR) closeSync(left);
    return undefined;
  }

  close(): void {
    const before = this.#descriptor;
    this.#descriptor = STDERR;
    if (before !== undefined && before > STDERR) closeSync(before);
  }

  /** Returns a descriptor, or the reason why the file cannot be opened. */
  #open(): number | string {
    if (this.path === 'stderr') return STDERR;
    const standard = standardStream(this.path);
    if (standard !== undefined) return standard;
    try {
      return this.#opener.open(this.path);
    } catch (error) {
      return openFailure(this.path, error);
    }
  }
}

/** Writes a message to standard error, for the operator. */
export function tellOperator(message: string, level: Level = 'alert'): void {
  writeLine(STDERR, `gw: [${level}] ${message}`);
}

/**
 * Writes a line with one call, so that lines of several threads and processes do not mix. Returns false if it was not written
 * as a whole: the disk is full, or nobody reads the pipe.
 */
function writeLine(descriptor: number, line: string): boolean {
  const bytes = Buffer.from(line);
  const whole = Buffer.concat([bytes.subarray(0, endOfLine(bytes)), LINE_END]);
  try {
    return writeSync(descriptor, whole) === whole.length;
  } catch {
    return false;
  }
}

/** A descriptor by which this thread writes to a standard stream. */
interface PromptStream {
  readonly descriptor: number;
  /** Writes wait for the reader unless `makePrompt` is called before. */
  readonly waits: boolean;
}

const PROMPT = new Map<number, PromptStream>();

function promptOf(descriptor: number): number {
  if (descriptor !== STDOUT && descriptor !== STDERR) return descriptor;
  const known = PROMPT.get(descriptor) ?? openStream(descriptor);
  PROMPT.set(descriptor, known);
  if (known.waits) makePrompt(known.descriptor);
  return known.descriptor;
}

function openStream(stream: 1 | 2): PromptStream {
  const descriptor = openPrompt(stream);
  return { descriptor, waits: descriptor === stream && mayWait(stream) };
}

/** Returns where to cut a line, never inside a UTF-8 character. */
function endOfLine(bytes: Buffer): number {
  let end = MAX_LINE_BYTES - LINE_END.length;
  if (bytes.length <= end) return bytes.length;
  while (((bytes[end] as number) & 0xc0) === 0x80) end--;
  return end;
}

/** The open error logs of one thread. */
export interface LogFiles extends ErrorLog {
  reopen(): void;
  close(): void;
  writesTo(path: string): boolean;
  /** Tells whether any log writes lines of this level. */
  takes(level: Level): boolean;
}

/** The thread that writes; `tid` is 0 in the master. */
export interface LogWriter {
  readonly prefix: string;
  readonly tid: number;
  readonly listeners?: LogListeners;
  readonly opener?: LogOpener;
  /** True if a file that cannot be opened is reported by others, or opened by `reopen`: until then its lines are lost. */
  readonly opensLater?: boolean;
  /** Called with the path of a log, or `syslog`, and the number of lines that it has lost. */
  readonly dropped?: ((log: string, lines: number) => void) | undefined;
  /** Receives the reason why a log could not be reopened. Default: the logs, where that one writes to its old file. */
  readonly tell?: (trouble: string) => void;
}

interface OpenTarget {
  readonly threshold: number;
  readonly isJson: boolean;
  readonly sink: ErrorSink;
  /** Lines that were lost and are not yet told. */
  lost: number;
  toldMs: number;
}

/** A log tells at most this often that lines of it were lost, once it takes lines again. */
const LOST_INTERVAL_MS = 1_000;

/**
 * Opens the error logs. Default: `logs/error.log` below the prefix if that directory exists, else stderr. If a file
 * cannot be opened, that is reported on stderr, and its lines are written there.
 */
export function openErrorLogs(targets: readonly ErrorLogTarget[] | undefined, writer: LogWriter): LogFiles {
  return new OpenErrorLogs(targets ?? [defaultTarget(writer)], writer);
}

class OpenErrorLogs implements LogFiles {
  readonly #logs: readonly OpenTarget[];
  readonly #writer: LogWriter;
  readonly #repeated = new RepeatedLines((level, message) => this.#write(level, message, undefined));

  constructor(targets: readonly ErrorLogTarget[], writer: LogWriter) {
    this.#writer = writer;
    this.#logs = targets.map((target) => ({
      threshold: LEVELS.indexOf(target.level),
      isJson: target.format === 'json',
      sink: openSink(target, writer),
      lost: 0,
      toldMs: -Infinity,
    }));
  }

  write(level: Level, message: string, context?: LogContext): void {
    if (this.takes(level) && !this.#repeated.holds(level, message, context))
      this.#write(level, message, context);
  }

  #write(level: Level, message: string, context: LogContext | undefined): void {
    const severity = LEVELS.indexOf(level);
    const line: ErrorLine = { level, message, context, timeMs: Date.now(), tid: this.#writer.tid };
    const text = errorText(line);
    let asText: string | undefined;
    let asJson: string | undefined;
    for (const log of this.#logs) {
      if (severity < log.threshold) continue;
      const written = log.isJson ? (asJson ??= jsonLine(line)) : (asText ??= textLine(line, text));
      if (!log.sink.write(written, severity)) this.#lose(log);
      else if (log.lost > 0) this.#tellLost(log);
    }
    this.#writer.listeners?.tell(text, line);
  }

  #lose(log: OpenTarget): void {
    log.lost++;
    this.#writer.dropped?.(log.sink.path, 1);
  }

  /** Tells that lines were lost, in the log that takes lines again. */
  #tellLost(log: OpenTarget): void {
    const nowMs = performance.now();
    if (nowMs - log.toldMs < LOST_INTERVAL_MS) return;
    const message = `${log.lost} lines of this log were lost: it could not be written`;
    const line: ErrorLine = {
      level: LOST,
      message,
      context: undefined,
      timeMs: Date.now(),
      tid: this.#writer.tid,
    };
    const text = log.isJson ? jsonLine(line) : textLine(line, errorText(line));
    if (!log.sink.write(text, LEVELS.indexOf(LOST))) return;
    log.lost = 0;
    log.toldMs = nowMs;
  }

  reopen(): void {
    const { tell = (trouble: string) => this.write('emerg', trouble) } = this.#writer;
    for (const trouble of this.#logs.flatMap(({ sink }) => sink.reopen() ?? [])) tell(trouble);
  }

  close(): void {
    this.#repeated.close();
    for (const { sink } of this.#logs) sink.close();
  }

  writesTo(path: string): boolean {
    return this.#logs.some(({ sink }) => sink.path === path);
  }

  takes(level: Level): boolean {
    const severity = LEVELS.indexOf(level);
    return this.#logs.some(({ threshold }) => severity >= threshold);
  }
}

function defaultTarget({ prefix }: LogWriter): ErrorLogTarget {
  const path = existsSync(resolve(prefix, 'logs')) ? 'logs/error.log' : 'stderr';
  return { path, level: 'error' };
}
