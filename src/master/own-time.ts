import { readFileSync } from 'node:fs';

/** The unit of CPU times in Linux' /proc (sysconf: _SC_CLK_TCK): 10 ms on every platform. */
const TICK_MS = 10;

/** After the thread's name, which may contain anything: state, ten fields, CPU time in user mode and kernel. */
const STATE_AND_TIMES = /^.*\) (\S)(?: \S+){10} (\d+) (\d+)/s;

/** How often `watchOwnTime` looks. */
const CHECK_MS = 250;

/** Limits of a time that a process gets. */
export interface OwnTimeLimits {
  /** Of the process's own time. */
  readonly ownMs: number;
  /** Of all time, with that in which it waits for a CPU. */
  readonly mostMs: number;
}

/** Calls `late` once when a process has had its time. Returns the function that ends the watch. */
export function watchOwnTime(pid: number, { ownMs, mostMs }: OwnTimeLimits, late: () => void): () => void {
  const ownTime = new OwnTime(pid, pid);
  let [own, passed] = [0, 0];
  const timer = setInterval(() => {
    passed += CHECK_MS;
    own += ownTime.of(CHECK_MS);
    if (own < ownMs && passed < mostMs) return;
    clearInterval(timer);
    late();
  }, CHECK_MS);
  return () => clearInterval(timer);
}

/**
 * Measures how much of a time a thread has had for itself: it ran, or it waited for something other than a CPU. On a
 * busy machine a thread may wait for a CPU for seconds; that does not mean that it hangs.
 */
export class OwnTime {
  readonly #path: string;
  #cpuMs = 0;

  /** Ids as in /proc on Linux. */
  constructor(processId: number | 'self', threadId: number) {
    this.#path = `/proc/${processId}/task/${threadId}/stat`;
    this.of(0);
  }

  /** Returns the thread's own part of the time since the last call; all of it if the system does not tell. */
  of(passedMs: number): number {
    const [, state, own, kernel] = STATE_AND_TIMES.exec(this.#read()) ?? [];
    if (state === undefined) return passedMs;
    const before = this.#cpuMs;
    this.#cpuMs = (Number(own) + Number(kernel)) * TICK_MS;
    // "R" means that the thread runs or waits for a CPU.
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
