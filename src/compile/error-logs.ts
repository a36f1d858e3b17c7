import type { WorkerScope } from '../contract/index.ts';
import { openErrorLogs } from '../log/index.ts';
import type { ErrorLog, ErrorLogTarget } from '../log/index.ts';

/** Where a location's errors go: to the worker's own log unless the configuration names others below its main level. */
export class ErrorLogs {
  readonly #worker: WorkerScope;
  readonly #main: readonly ErrorLogTarget[] | undefined;
  readonly #opened = new Map<readonly ErrorLogTarget[], ErrorLog>();

  constructor(worker: WorkerScope, main: readonly ErrorLogTarget[] | undefined) {
    this.#worker = worker;
    this.#main = main;
  }

  /** Levels that inherit their logs hold the same list, so they share what is open. */
  of(targets: readonly ErrorLogTarget[] | undefined): ErrorLog {
    if (!targets || targets === this.#main) return this.#worker.log;
    const known = this.#opened.get(targets) ?? this.#open(targets);
    this.#opened.set(targets, known);
    return known;
  }

  #open(targets: readonly ErrorLogTarget[]): ErrorLog {
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
