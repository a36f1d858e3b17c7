import type { ErrorLog } from '../log/index.ts';
import { OwnTime } from './own-time.ts';

/** Each check counts at most this time, so that workers do not appear to hang after the machine was suspended. */
const CHECK_MS = 500;
const INTERRUPT_MS = 2_000;
/** Limit for a worker that reads a configuration. */
const LOADING_MS = 7_000;
const KILL_MS = 10_000;
/** Ids below this can be watched; the master has id 0. */
export const MAX_WORKERS = 512;

interface WatchedWorker {
  count: number;
  /** The worker's own time (see `OwnTime`) since the last heartbeat. */
  silentMs: number;
  ownTime: Pick<OwnTime, 'of'> | undefined;
  /** True after the first heartbeat. Before that, the worker loads its code. */
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
 * Watches the workers' heartbeats. A worker that is silent for 2 s is interrupted and ends alone. A worker that hangs
 * in native code cannot be ended alone, because its open sockets would abort the process: after 10 s the whole process
 * is killed, and the supervisor restarts it. Time in which a worker waits for a CPU does not count.
 */
export class Watchdog {
  /** A counter for each worker, followed by the worker's thread id in /proc, which the worker writes; 0: unknown. */
  readonly #buffer = new SharedArrayBuffer(2 * MAX_WORKERS * Int32Array.BYTES_PER_ELEMENT);
  readonly #counters = new Int32Array(this.#buffer);
  readonly #watched = new Map<number, WatchedWorker>();
  readonly #log: ErrorLog;
  readonly #events: WatchdogEvents;
  readonly #ownTimeOf: (threadId: number) => Pick<OwnTime, 'of'>;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    log: ErrorLog,
    events: WatchdogEvents,
    ownTimeOf = (threadId: number): Pick<OwnTime, 'of'> => new OwnTime('self', threadId),
  ) {
    this.#log = log;
    this.#events = events;
    this.#ownTimeOf = ownTimeOf;
  }

  /** Starts to watch a worker. Returns the memory in which the worker increments the counter at its id. */
  watch(workerId: number): SharedArrayBuffer {
    Atomics.store(this.#counters, MAX_WORKERS + workerId, 0);
    this.#watched.set(workerId, {
      count: this.#beats(workerId),
      silentMs: 0,
      ownTime: undefined,
      awake: false,
      interrupted: false,
    });
    return this.#buffer;
  }

  forget(workerId: number): void {
    this.#watched.delete(workerId);
  }

  /** Announces the stop to all present and future workers. */
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
      const ownMs = this.#ownMs(workerId, watched);
      // An interrupted worker must end, even if its event loop runs again.
      if (count !== watched.count && !watched.interrupted) {
        Object.assign(watched, { count, silentMs: 0, awake: true });
        continue;
      }
      watched.silentMs += ownMs;
      const isLoading = !watched.awake || this.#events.isLoading(workerId);
      const mostMs = isLoading ? LOADING_MS : INTERRUPT_MS;
      if (watched.silentMs >= mostMs) this.#interrupt(workerId, watched, mostMs);
      if (watched.silentMs >= KILL_MS) {
        this.#log.write('emerg', `worker ${workerId} hangs, ending the process`);
        process.kill(process.pid, 'SIGKILL');
      }
    }
  }

  /** Returns the worker's own time since the last check. */
  #ownMs(workerId: number, watched: WatchedWorker): number {
    const threadId = Atomics.load(this.#counters, MAX_WORKERS + workerId);
    if (threadId !== 0) watched.ownTime ??= this.#ownTimeOf(threadId);
    return watched.ownTime?.of(CHECK_MS) ?? CHECK_MS;
  }

  /** Interrupts a worker, and again at each check: a loop of many short jobs may survive the first interruption. */
  #interrupt(workerId: number, watched: WatchedWorker, silentMs: number): void {
    if (!watched.interrupted)
      this.#log.write('alert', `worker ${workerId} does not respond for ${silentMs} ms, interrupting it`);
    watched.interrupted = true;
    this.#events.interrupt(workerId);
  }

  #beats(workerId: number): number {
    return Atomics.load(this.#counters, workerId);
  }
}
