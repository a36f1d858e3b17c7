import type { ErrorLog } from '../log/index.ts';

/** Silence is counted in checks instead of time: after a suspend of the machine, workers must not look hung. */
const CHECK_MS = 500;
const INTERRUPT_CHECKS = 4;
/** Checks without a heartbeat that are allowed while a worker reads a configuration. */
const LOADING_CHECKS = 14;
const KILL_CHECKS = 20;
/** Ids below this can be watched; that of the master is 0. */
export const MAX_WORKERS = 512;

interface WatchedWorker {
  count: number;
  /** Number of checks since the last heartbeat. */
  silent: number;
  /** True after the first heartbeat; before that the worker loads its code. */
  awake: boolean;
  interrupted: boolean;
}

/** Callbacks of the watchdog to the owner of the threads. */
interface WatchdogEvents {
  /** True while the worker reads a configuration, which may take longer. */
  isLoading(workerId: number): boolean;
  /** Interrupts the JavaScript of the worker. */
  interrupt(workerId: number): void;
}

/**
 * Watches the workers' heartbeats. A worker that is silent for 2 s is interrupted and ends alone. One that hangs in native
 * code cannot be ended alone, because its open sockets would abort the process: after 10 s the whole process is killed, and
 * the supervisor restarts it.
 */
export class Watchdog {
  readonly #buffer = new SharedArrayBuffer(MAX_WORKERS * Int32Array.BYTES_PER_ELEMENT);
  readonly #counters = new Int32Array(this.#buffer);
  readonly #watched = new Map<number, WatchedWorker>();
  readonly #log: ErrorLog;
  readonly #events: WatchdogEvents;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: ErrorLog, events: WatchdogEvents) {
    this.#log = log;
    this.#events = events;
  }

  /** Starts to watch a worker, and gives the memory in which it increments the counter at its id. */
  watch(workerId: number): SharedArrayBuffer {
    this.#watched.set(workerId, {
      count: this.#beats(workerId),
      silent: 0,
      awake: false,
      interrupted: false,
    });
    return this.#buffer;
  }

  forget(workerId: number): void {
    this.#watched.delete(workerId);
  }

  /** Announces the stop to all workers, future ones included. */
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
      // An interrupted worker must end, even if its event loop runs again.
      if (count !== watched.count && !watched.interrupted) {
        Object.assign(watched, { count, silent: 0, awake: true });
        continue;
      }
      watched.silent++;
      const isLoading = !watched.awake || this.#events.isLoading(workerId);
      if (watched.silent >= (isLoading ? LOADING_CHECKS : INTERRUPT_CHECKS))
        this.#interrupt(workerId, watched);
      if (watched.silent >= KILL_CHECKS) {
        this.#log.write('emerg', `worker ${workerId} hangs, ending the process`);
        process.kill(process.pid, 'SIGKILL');
      }
    }
  }

  /** Interrupts a worker, again at each check: a loop of many short jobs may survive the first interruption. */
  #interrupt(workerId: number, watched: WatchedWorker): void {
    if (!watched.interrupted) {
      const silentMs = watched.silent * CHECK_MS;
      this.#log.write('alert', `worker ${workerId} does not respond for ${silentMs} ms, interrupting it`);
    }
    watched.interrupted = true;
    this.#events.interrupt(workerId);
  }

  #beats(workerId: number): number {
    return Atomics.load(this.#counters, workerId);
  }
}
