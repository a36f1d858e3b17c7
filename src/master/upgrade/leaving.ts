import type { MasterProcess } from '../master-process.ts';
import { type OwnTimeLimits, watchOwnTime } from '../own-time.ts';

/** Time for a replaced master to close its listening sockets, without and with time in which it waits for a CPU. */
const CLOSE_MS = 10_000;
const MOST_CLOSE_MS = 60_000;
/** Time for it to end after `worker_shutdown_timeout`: its resources close then. */
const AFTERWARDS_MS = 15_000;

/** The end of a master that another one has replaced, seen from the supervisor: it is killed if it does not end. */
export class Leaving {
  readonly #master: MasterProcess;
  readonly #killed: (reason: string) => void;
  /** Resolves when the master accepts no more connections. */
  readonly closed: Promise<void>;
  #unwatch: () => void;
  #hasLeft = false;
  #closed!: () => void;

  /** `killed` is called with the reason if the master had to be killed. */
  constructor(master: MasterProcess, killed: (reason: string) => void) {
    this.#master = master;
    this.#killed = killed;
    const reason = `its listening sockets were still open after ${CLOSE_MS / 1_000} s`;
    this.#unwatch = this.#killAfter({ ownMs: CLOSE_MS, mostMs: MOST_CLOSE_MS }, reason);
    this.closed = new Promise((resolve) => {
      this.#closed = resolve;
    });
    void master.ended.then(() => {
      this.#unwatch();
      this.#closed();
    });
  }

  /** The master says that it has closed its listening sockets. It may be in the hands of an attacker. */
  left(endsWithinMs: unknown): void {
    if (this.#hasLeft || !Number.isSafeInteger(endsWithinMs)) return;
    this.#hasLeft = true;
    this.#closed();
    this.#unwatch();
    const ownMs = Math.max(0, endsWithinMs as number) + AFTERWARDS_MS;
    const limits = { ownMs, mostMs: ownMs + MOST_CLOSE_MS };
    this.#unwatch = this.#killAfter(limits, 'it went on after "worker_shutdown_timeout"');
  }

  #killAfter(limits: OwnTimeLimits, reason: string): () => void {
    const { pid } = this.#master;
    return watchOwnTime(pid, limits, () => {
      this.#killed(`the replaced program (process ${pid}) was killed: ${reason}`);
      this.#master.kill('SIGKILL');
    });
  }
}
