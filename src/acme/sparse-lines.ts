import type { ErrorLog } from '../log/index.ts';

const PAUSE_MS = 1_000;

/** Writes at most one line in a second, for what clients can cause as often as they like. Others are counted. */
export class SparseLines {
  readonly #log: ErrorLog;
  #nextMs = -Infinity;
  #leftOut = 0;

  constructor(log: ErrorLog) {
    this.#log = log;
  }

  write(level: 'warn' | 'error', message: string): void {
    const nowMs = performance.now();
    if (nowMs < this.#nextMs) {
      this.#leftOut += 1;
      return;
    }
    this.#log.write(
      level,
      this.#leftOut === 0 ? message : `${message}; ${this.#leftOut} lines were left out`,
    );
    this.#leftOut = 0;
    this.#nextMs = nowMs + PAUSE_MS;
  }
}
