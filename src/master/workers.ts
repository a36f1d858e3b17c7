import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorLog } from '../log/index.ts';
import type { Shipment } from '../worker/index.ts';
import { Watchdog } from './watchdog.ts';
import { WorkerThread } from './worker-thread.ts';
import type { ThreadEvents } from './worker-thread.ts';

/** A thread that crashes again this soon after its start is not started again at once. */
const QUICK_CRASH_MS = 1_000;

/** What the workers report to the master. */
export interface WorkersOptions {
  readonly log: ErrorLog;
  /** Before a thread's id is used again: frees what it held in shared memory. */
  readonly release: (workerId: number) => void;
}

/** The worker threads: as many as the configuration says, each replaced when it crashes. */
export class Workers implements ThreadEvents {
  readonly #options: WorkersOptions;
  readonly #threads = new Map<number, WorkerThread>();
  readonly #startedAt = new Map<number, number>();
  readonly #watchdog: Watchdog;
  #shipment: Shipment | undefined;
  #stopping = false;
  readonly #gone: Promise<void>;
  #allGone!: () => void;

  constructor(options: WorkersOptions) {
    this.#options = options;
    this.#watchdog = new Watchdog(options.log);
    this.#gone = new Promise((resolve) => {
      this.#allGone = resolve;
    });
  }

  /** Resolves when all of them listen; fails when one cannot. */
  async start(shipment: Shipment): Promise<void> {
    this.#shipment = shipment;
    const ids = Array.from({ length: shipment.plan.main.workers }, (_, index) => index + 1);
    await Promise.all(ids.map((id) => this.#spawn(id, shipment).listening()));
    this.#watchdog.start();
  }

  /** All workers take the new configuration, or none does. Gives the reason of a refusal. */
  async reload(shipment: Shipment): Promise<string | undefined> {
    const threads = [...this.#threads.values()];
    const replies = await Promise.allSettled(
      threads.map((thread) => thread.ask({ type: 'prepare', shipment })),
    );
    const refusal = replies.map(refusalOf).find((reason) => reason !== undefined);
    if (refusal !== undefined) {
      for (const thread of threads) thread.tell({ type: 'discard' });
      return refusal;
    }
    this.#shipment = shipment;
    await Promise.allSettled(threads.map((thread) => thread.ask({ type: 'switch' })));
    await this.#resize(shipment);
    return undefined;
  }

  reopen(): void {
    for (const thread of this.#threads.values()) thread.tell({ type: 'reopen' });
  }

  /** Resolves when the last thread is gone. */
  stop(graceful: boolean): Promise<void> {
    this.#stopping = true;
    this.#watchdog.stop();
    for (const thread of this.#threads.values()) thread.tell({ type: 'stop', graceful });
    if (this.#threads.size === 0) this.#allGone();
    return this.#gone;
  }

  crashed({ workerId }: WorkerThread, reason: string): void {
    this.#options.log.write('alert', `worker ${workerId} crashed: ${reason.replaceAll('\n', ' ')}`);
  }

  exited(thread: WorkerThread): void {
    const { workerId, stopping } = thread;
    this.#threads.delete(workerId);
    this.#watchdog.forget(workerId);
    this.#options.release(workerId);
    if (this.#stopping && this.#threads.size === 0) this.#allGone();
    if (!stopping && !this.#stopping) void this.#replace(workerId);
  }

  async #replace(workerId: number): Promise<void> {
    const ranMs = Date.now() - (this.#startedAt.get(workerId) ?? 0);
    if (ranMs < QUICK_CRASH_MS) await delay(QUICK_CRASH_MS);
    if (this.#stopping || !this.#shipment) return;
    try {
      await this.#spawn(workerId, this.#shipment).listening();
      this.#options.log.write('notice', `worker ${workerId} was started again`);
    } catch (error) {
      this.#options.log.write('alert', `worker ${workerId} cannot start: ${(error as Error).message}`);
    }
  }

  /** `worker_processes` may have changed. */
  async #resize({ plan }: Shipment): Promise<void> {
    const wanted = plan.main.workers;
    for (const [id, thread] of this.#threads) if (id > wanted) thread.tell({ type: 'stop', graceful: true });
    const missing = Array.from({ length: wanted }, (_, index) => index + 1).filter(
      (id) => !this.#threads.has(id),
    );
    await Promise.allSettled(missing.map((id) => this.#spawn(id, this.#shipment as Shipment).listening()));
  }

  #spawn(workerId: number, shipment: Shipment): WorkerThread {
    const heartbeats = this.#watchdog.watch(workerId);
    const thread = new WorkerThread({ workerId, heartbeats, shipment }, this);
    this.#threads.set(workerId, thread);
    this.#startedAt.set(workerId, Date.now());
    return thread;
  }
}

function refusalOf(
  result: PromiseSettledResult<Awaited<ReturnType<WorkerThread['ask']>>>,
): string | undefined {
  if (result.status === 'rejected') return String((result.reason as Error).message);
  return result.value.type === 'refused' ? result.value.reason : undefined;
}
