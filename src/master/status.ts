import { type RunningStatus, writeStatus } from './process-files.ts';
import type { Outcome, ServingFacts } from './protocol.ts';

/** Longest text of an outcome. The process that tells it may be in the hands of an attacker. */
const MOST_TEXT = 2_000;

/** Keeps what commands are told in the status file. Used by the process whose id is in the pid file. */
export class Status {
  readonly #pid: number;
  readonly #supervisor: string | undefined;
  #told: RunningStatus | undefined;
  #pidFile: string | undefined;

  /** `supervisor` is the version of a supervisor, if this process is one. */
  constructor(pid: number, supervisor?: string) {
    this.#pid = pid;
    this.#supervisor = supervisor;
  }

  /** A program serves, at the start or after an upgrade. */
  serves({ version, pidFile }: ServingFacts): void {
    this.#pidFile = pidFile;
    this.#write({ ...this.#told, pid: this.#pid, version, supervisor: this.#supervisor });
  }

  /** A reload or an upgrade has ended. A reload may have moved the pid file. */
  ended({ kind, began, isDone, text }: Outcome, pidFile = this.#pidFile): void {
    this.#pidFile = pidFile;
    if (!this.#told) return;
    this.#write({ ...this.#told, [kind]: { kind, began, isDone, text: text.slice(0, MOST_TEXT) } });
  }

  #write(told: RunningStatus): void {
    this.#told = told;
    if (this.#pidFile !== undefined) writeStatus(this.#pidFile, told);
  }
}
