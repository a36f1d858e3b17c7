import type { ErrorLog } from '../log/index.ts';

const CHECK_MS = 500;
const COMPLAIN_MS = 2_000;
const KILL_MS = 10_000;
const MAX_WORKERS = 512;

interface Watched {
  count: number;
  movedAt: number;
  complained: boolean;
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
    this.#watched.set(workerId, { count: -1, movedAt: Date.now(), complained: false });
    return this.#buffer;
  }

  forget(workerId: number): void {
    this.#watched.delete(workerId);
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#check(Date.now()), CHECK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(now: number): void {
    for (const [workerId, watched] of this.#watched) {
      const count = Atomics.load(this.#counters, workerId);
      if (count !== watched.count) {
        Object.assign(watched, { count, movedAt: now, complained: false });
        continue;
      }
      const silentMs = now - watched.movedAt;
      if (silentMs > COMPLAIN_MS && !watched.complained) {
        watched.complained = true;
        this.#log.write('alert', `worker ${workerId} does not respond for ${silentMs} ms`);
      }
      if (silentMs > KILL_MS) {
        this.#log.write('emerg', `worker ${workerId} hangs, ending the process`);
        process.kill(process.pid, 'SIGKILL');
      }
    }
  }
}
