import { listensOn } from '../../system/index.ts';
import type { MasterProcess } from '../master-process.ts';
import { type OwnTimeLimits, watchOwnTime } from '../own-time.ts';

/** Time for a replaced master to close its listening sockets, without and with time in which it waits for a CPU. */
const CLOSE_MS = 10_000;
const MOST_CLOSE_MS = 60_000;
/** Time for it to end after `worker_shutdown_timeout`: its resources close then. */
const AFTERWARDS_MS = 15_000;
/** How often the supervisor looks whether a master that has said so has closed its sockets. */
const LOOK_MS = 250;

/** What is known of a replaced master since before the upgrade. */
interface LeavingFacts {
  /** The inet ports whose sockets it has handed over. */
  readonly ports: ReadonlySet<number>;
  /** Called with the reason if it had to be killed. */
  readonly killed: (reason: string) => void;
}

/**
 * The end of a master that another one has replaced, seen from the supervisor: it is killed if it does not end. It may
 * be in the hands of an attacker. So its times were known before, and the supervisor itself looks for its sockets,
 * where the system shows them.
 */
export class Leaving {
  readonly #master: MasterProcess;
  readonly #facts: LeavingFacts;
  /** Resolves when the master accepts no more connections. */
  readonly closed: Promise<void>;
  readonly #unwatchSockets: () => void;
  #look: NodeJS.Timeout | undefined;
  #closed!: () => void;

  constructor(master: MasterProcess, facts: LeavingFacts) {
    this.#master = master;
    this.#facts = facts;
    const stillOpen = `its listening sockets were still open after ${CLOSE_MS / 1_000} s`;
    this.#unwatchSockets = this.#killAfter({ ownMs: CLOSE_MS, mostMs: MOST_CLOSE_MS }, stillOpen);
    const ownMs = CLOSE_MS + master.shutdownTimeoutMs + AFTERWARDS_MS;
    const limits = { ownMs, mostMs: ownMs + MOST_CLOSE_MS };
    const unwatchEnd = this.#killAfter(limits, 'it went on after "worker_shutdown_timeout"');
    this.closed = new Promise((resolve) => {
      this.#closed = resolve;
    });
    void master.ended.then(() => {
      unwatchEnd();
      this.#accepted();
    });
  }

  /** The master says that it has closed its listening sockets. */
  left(): void {
    this.#look ??= setInterval(() => this.#lookForSockets(), LOOK_MS);
    this.#lookForSockets();
  }

  #lookForSockets(): void {
    if (listensOn(this.#master.pid, this.#facts.ports) !== true) this.#accepted();
  }

  /** It accepts no more connections. */
  #accepted(): void {
    clearInterval(this.#look);
    this.#unwatchSockets();
    this.#closed();
  }

  #killAfter(limits: OwnTimeLimits, reason: string): () => void {
    const { pid } = this.#master;
    return watchOwnTime(pid, limits, () => {
      this.#facts.killed(`the replaced program (process ${pid}) was killed: ${reason}`);
      this.#master.kill('SIGKILL');
    });
  }
}
