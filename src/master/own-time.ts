import { readdirSync, readFileSync } from 'node:fs';

/** The unit of times in Linux' /proc (sysconf: _SC_CLK_TCK): 10 ms on every platform. */
const TICK_MS = 10;

/** After the thread's name, which may contain anything: state, ten fields, CPU time in user mode and kernel. */
const STATE_AND_TIMES = /^.*\) (\S)(?: \S+){10} (\d+) (\d+)/s;

/** After the name: state, eighteen fields, the time at which the process started, since the system did. */
const TICKS_AT_START = /^.*\) \S(?: \S+){18} (\d+)/s;

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
  const ownTime = new OwnTime(pid);
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
 * Measures how much of a time a thread, or a process as a whole, has had for itself: it ran, or it waited for something
 * other than a CPU. On a busy machine a thread may wait for a CPU for seconds; that does not mean that it hangs.
 */
export class OwnTime {
  readonly #tasks: string;
  readonly #threadId: number | undefined;
  #cpuMs = 0;

  /** Ids as in /proc on Linux; without `threadId`, all threads of the process count as one. */
  constructor(processId: number | 'self', threadId?: number) {
    this.#tasks = `/proc/${processId}/task`;
    this.#threadId = threadId;
    this.of(0);
  }

  /** Returns the own part of the time since the last call; all of it if the system does not tell. */
  of(passedMs: number): number {
    let cpuMs = 0;
    // "R" means that a thread runs or waits for a CPU.
    let isRunnable = false;
    for (const thread of this.#threads()) {
      const [, state, own, kernel] = STATE_AND_TIMES.exec(read(`${this.#tasks}/${thread}/stat`)) ?? [];
      cpuMs += (Number(own ?? 0) + Number(kernel ?? 0)) * TICK_MS;
      isRunnable ||= state === 'R';
    }
    // Threads that have ended are no longer counted.
    const ranMs = Math.max(0, cpuMs - this.#cpuMs);
    if (cpuMs > 0) this.#cpuMs = cpuMs;
    return isRunnable ? Math.min(passedMs, ranMs) : passedMs;
  }

  #threads(): readonly (string | number)[] {
    if (this.#threadId !== undefined) return [this.#threadId];
    try {
      return readdirSync(this.#tasks);
    } catch {
      return [];
    }
  }
}

/** Returns when a process started, in ms since the epoch; `Infinity` if the system does not tell. */
export function startedMs(pid: number): number {
  const [upS = ''] = read('/proc/uptime').split(' ');
  const ticks = TICKS_AT_START.exec(read(`/proc/${pid}/stat`))?.[1];
  if (upS === '' || ticks === undefined) return Infinity;
  return Date.now() - Number(upS) * 1_000 + Number(ticks) * TICK_MS;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
