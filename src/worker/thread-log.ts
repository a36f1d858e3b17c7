import {
  type ErrorLog,
  type ErrorLogTarget,
  type Level,
  type LogContext,
  type LogFiles,
  LogListeners,
  type LogWriter,
  openErrorLogs,
} from '../log/index.ts';

/** The error log of one thread. Its files follow the configuration in use. */
export class ThreadLog implements ErrorLog {
  readonly listeners = new LogListeners();
  readonly #writer: LogWriter;
  #files: LogFiles;
  #key: string;

  constructor(targets: readonly ErrorLogTarget[] | undefined, writer: LogWriter) {
    this.#writer = { ...writer, listeners: this.listeners };
    this.#files = openErrorLogs(targets, this.#writer);
    this.#key = JSON.stringify(targets);
  }

  write(level: Level, message: string, context?: LogContext): void {
    this.#files.write(level, message, context);
  }

  /** Switches to other files; does nothing if they are the same. */
  use(targets: readonly ErrorLogTarget[] | undefined): void {
    const key = JSON.stringify(targets);
    if (key === this.#key) return;
    const before = this.#files;
    this.#files = openErrorLogs(targets, this.#writer);
    this.#key = key;
    before.close();
  }

  reopen(): void {
    this.#files.reopen();
  }

  close(): void {
    this.#files.close();
  }

  /** Tells whether the log writes to `stderr` or to an absolute path. */
  writesTo(path: string): boolean {
    return this.#files.writesTo(path);
  }

  /** Tells whether some log writes lines of this level. */
  takes(level: Level): boolean {
    return this.#files.takes(level);
  }
}
