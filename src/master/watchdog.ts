import type { ErrorLog } from '../log/index.ts';

/** Silence is counted in checks, not in time: a machine that was asleep must not look like a worker that hangs. */
const CHECK_MS = 500;
const COMPLAIN_CHECKS = 4;
const KILL_CHECKS = 20;
const MAX_WORKERS = 512;

interface Watched {
  count: number;
  /** Checks since the counter last moved. */
  silent: number;
  /** It has beaten once; before that it loads its code. */
  awake: boolean;
}

/**
 * Watches the workers' heartbeats. A worker whose event loop hangs cannot be ended alone (its open sockets would abort the
 * process), so after 10 s the whole process goes, and the supervisor starts it again.
 */
export class Watchdog {
  readonly #buffer = new SharedArrayBuffer(MAX_WORKERS * Int32Array.BYTES_PER_ELEMENT);
  readonly #counters = new Int32Array(this.#buffer);
  readonly #watched = new Map<number, Watched>();
  readonly #log: ErrorLog;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: ErrorLog) {
    this.#log = log;
  }

  /** The memory in which a worker beats at its id. */
  watch(workerId: number): SharedArrayBuffer {
    this.#watched.set(workerId, { count: this.#beats(workerId), silent: 0, awake: false });
    return this.#buffer;
  }

  forget(workerId: number): void {
    this.#watched.delete(workerId);
  }

  /** Tells every worker, also those that start from now on, that the gateway is about to stop. */
  announceStop(): void {
    Atomics.store(this.#counters, 0, 1);
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    for (const [workerId, watched] of this.#watched) {
      const count = this.#beats(workerId);
      if (count !== watched.count) {
        Object.assign(watched, { count, silent: 0, awake: true });
        continue;
      }
      watched.silent++;
      if (watched.silent === COMPLAIN_CHECKS && watched.awake) {
        this.#log.write('alert', `worker ${workerId} does not respond for ${COMPLAIN_CHECKS * CHECK_MS} ms`);
      }
      if (watched.silent >= KILL_CHECKS) {
        this.#log.write('emerg', `worker ${workerId} hangs, ending the process`);
        process.kill(process.pid, 'SIGKILL');
      }
    }
  }

  #beats(workerId: number): number {
    return Atomics.load(this.#counters, workerId);
  }
}
