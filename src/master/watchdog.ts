import type { ErrorLog } from '../log/index.ts';

/** Silence is counted in checks, not in time: a machine that was asleep must not look like a worker that hangs. */
const CHECK_MS = 500;
const INTERRUPT_CHECKS = 4;
/** Reading a large configuration may take longer; past this it is a hang all the same. */
const LOADING_CHECKS = 14;
const KILL_CHECKS = 20;
const MAX_WORKERS = 512;

interface WatchedWorker {
  count: number;
  /** Checks since the counter last moved. */
  silent: number;
  /** It has beaten once; before that it loads its code. */
  awake: boolean;
  interrupted: boolean;
}

/** What the watchdog asks of whoever runs the threads. */
export interface WatchdogEvents {
  /** It reads a configuration: silence is no sign of a hang yet. */
  isLoading(workerId: number): boolean;
  /** Its JavaScript is to be broken off. */
  interrupt(workerId: number): void;
}

/**
 * Watches the workers' heartbeats. A worker that is silent for 2 s has its JavaScript broken off, and ends alone. One that
 * hangs in native code cannot be ended alone (its open sockets would abort the process), so after 10 s the whole process
 * goes, and the supervisor starts it again.
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

  /** The memory in which a worker beats at its id. */
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
      // One that was interrupted has to go, also when its event loop turns again.
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

  /** At every check from then on: a loop of many short jobs may outlive the first time. */
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
