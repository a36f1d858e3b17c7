import { closeSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { LEVELS } from './error-log.ts';
import type { ErrorLogTarget } from './error-log.ts';
import { openSyslog } from './syslog.ts';
import { openLogFile } from './log-file.ts';
import { standardStream } from './standard-stream.ts';
import { systemFailure } from './system-error.ts';
import type { SyslogTarget } from './syslog-target.ts';

/** What takes whole lines of an error log. Nothing here throws. */
export interface ErrorSink {
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
export function openSink(target: ErrorLogTarget, prefix: string): ErrorSink {
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
