import type { ErrorLogConfig, WorkerScope } from '../contract/index.ts';
import { openErrorLogs } from '../log/index.ts';
import type { ErrorLog } from '../log/index.ts';

/** Where a location's errors go: to the worker's own log unless the configuration names others below its main level. */
export class ErrorLogs {
  readonly #worker: WorkerScope;
  readonly #main: readonly ErrorLogConfig[] | undefined;
  readonly #opened = new Map<readonly ErrorLogConfig[], ErrorLog>();

  constructor(worker: WorkerScope, main: readonly ErrorLogConfig[] | undefined) {
    this.#worker = worker;
    this.#main = main;
  }

  /** Levels that inherit their logs hold the same list, so they share what is open. */
  of(targets: readonly ErrorLogConfig[] | undefined): ErrorLog {
    if (!targets || targets === this.#main) return this.#worker.log;
    const known = this.#opened.get(targets) ?? this.#open(targets);
    this.#opened.set(targets, known);
    return known;
  }

  #open(targets: readonly ErrorLogConfig[]): ErrorLog {
    const { prefix, workerId: tid, logListeners: listeners } = this.#worker;
    const log = this.#worker.share(
      `error_log ${JSON.stringify(targets)}`,
      () => openErrorLogs(targets, { prefix, tid, listeners }),
      (opened) => opened.close(),
    );
    this.#worker.onReopen(() => log.reopen());
    return log;
  }
}
