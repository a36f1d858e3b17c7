import { readFileSync } from 'node:fs';

/** The unit of CPU times in Linux' /proc (sysconf: _SC_CLK_TCK): 10 ms on every platform. */
const TICK_MS = 10;

/** Behind the name of the thread, which may contain anything: its state, ten other fields, CPU time of its own and in the kernel. */
const STATE_AND_TIMES = /^.*\) (\S)(?: \S+){10} (\d+) (\d+)/s;

/**
 * Tells how much of a time a thread has had for itself: it ran, or waited for something of its own will. A thread that waits for
 * a core has not: on a busy machine it does nothing for seconds and does not hang.
 */
export class OwnTime {
  readonly #path: string;
  #cpuMs = 0;

  /** Ids as in /proc, where Linux has them. */
  constructor(processId: number | 'self', threadId: number) {
    this.#path = `/proc/${processId}/task/${threadId}/stat`;
    this.of(0);
  }

  /** Gives the thread's own part of the time since the last call; all of it where the system does not tell. */
  of(passedMs: number): number {
    const [, state, own, kernel] = STATE_AND_TIMES.exec(this.#read()) ?? [];
    if (state === undefined) return passedMs;
    const before = this.#cpuMs;
    this.#cpuMs = (Number(own) + Number(kernel)) * TICK_MS;
    // "R" means both that it runs and that it waits for a core.
    return state === 'R' ? Math.min(passedMs, this.#cpuMs - before) : passedMs;
  }

  #read(): string {
    try {
      return readFileSync(this.#path, 'latin1');
    } catch {
      return '';
    }
  }
}
