import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorLog } from '../log/index.ts';
import { addressText } from '../plan/index.ts';
import type { Shipment } from '../worker/index.ts';
import { BackOff } from './back-off.ts';
import type { Privileges } from './privileges/index.ts';
import { Watchdog } from './watchdog.ts';
import { type ThreadEvents, WorkerThread } from './worker-thread.ts';

/** A worker is restarted at once after the first crash, and with a delay after further ones. */
const RESTART = { firstMs: 200, maxMs: 5_000, steadyMs: 10_000 };

/** Options of `Workers`. */
interface WorkersOptions {
  readonly log: ErrorLog;
  readonly privileges: Pick<Privileges, 'openings' | 'connect' | 'hold'>;
  /** Called before the id of a thread is used again: releases what it held in shared memory. */
  readonly release: (workerId: number, isAccident: boolean) => void;
}

/** The worker threads. Their number is that of the configuration, and crashed ones are replaced. */
export class Workers implements ThreadEvents {
  readonly #options: WorkersOptions;
  readonly #threads = new Map<number, WorkerThread>();
  /** Ids of workers that are being started. */
  readonly #starting = new Set<number>();
  readonly #backOffs = new Map<number, BackOff>();
  readonly #watchdog: Watchdog;
  #shipment: Shipment | undefined;
  #stopping = false;
  readonly #gone: Promise<void>;
  #allGone!: () => void;

  constructor(options: WorkersOptions) {
    this.#options = options;
    this.#watchdog = new Watchdog(options.log, {
      isLoading: (workerId) => this.#threads.get(workerId)?.isAsked ?? true,
      interrupt: (workerId) => {
        options.privileges.hold(workerId);
        this.#threads.get(workerId)?.interrupt();
      },
    });
    this.#gone = new Promise((resolve) => {
      this.#allGone = resolve;
    });
  }

  /** Starts the workers; resolves when all listen and rejects if one cannot. */
  async start(shipment: Shipment): Promise<void> {
    if (this.#stopping) return;
    this.#shipment = shipment;
    this.#watchdog.start();
    await Promise.all(this.#missing(shipment).map((id) => this.#spawn(id, shipment)));
  }

  /** Moves all workers to the new configuration, or none. Gives the reason of a refusal. */
  async reload(shipment: Shipment): Promise<string | undefined> {
    const threads = [...this.#threads.values()].filter(({ stopping }) => !stopping);
    const known = new Set(this.#shipment?.plan.ports.map(({ address }) => addressText(address)));
    const added = shipment.plan.ports.filter(({ address }) => !known.has(addressText(address)));
    const answers = await Promise.allSettled(threads.map((thread) => this.#prepare(thread, shipment, added)));
    const refusal = answers.map(refusalOf).find((reason) => reason !== undefined);
    if (refusal !== undefined || this.#stopping) {
      for (const thread of threads) thread.tell({ type: 'discard' });
      return refusal ?? 'the gateway is stopping';
    }
    this.#shipment = shipment;
    // A worker that ends here is replaced by one with the new configuration.
    await Promise.allSettled(threads.map((thread) => thread.ask({ type: 'switch' })));
    await this.#resize(shipment);
    return undefined;
  }

  /** Prepares a worker for a configuration, with sockets for its new ports. */
  async #prepare(
    thread: WorkerThread,
    shipment: Shipment,
    added: Shipment['plan']['ports'],
  ): ReturnType<WorkerThread['ask']> {
    const openings = await this.#options.privileges.openings(added, shipment.plan.main.workers);
    return thread.ask({ type: 'prepare', shipment, openings });
  }

  /** Announces the stop: workers continue to serve, and `ready` probes fail. */
  announceStop(): void {
    this.#watchdog.announceStop();
  }

  reopen(): void {
    for (const thread of this.#threads.values()) thread.tell({ type: 'reopen' });
  }

  /** Stops all threads; resolves when the last one has ended. A second call with `graceful` false hurries the others. */
  stop(graceful: boolean): Promise<void> {
    this.#stopping = true;
    for (const thread of this.#threads.values()) thread.tell({ type: 'stop', graceful });
    this.#endWhenEmpty();
    return this.#gone;
  }

  crashed({ workerId }: WorkerThread, reason: string): void {
    this.#options.log.write('alert', `worker ${workerId} crashed: ${reason.replaceAll('\n', ' ')}`);
  }

  exited(thread: WorkerThread): void {
    const { workerId, startedMs } = thread;
    this.#threads.delete(workerId);
    this.#watchdog.forget(workerId);
    this.#options.release(workerId, !thread.stopping);
    this.#endWhenEmpty();
    if (thread.stopping) void this.#fill(workerId, 0);
    else void this.#fill(workerId, this.#backOff(workerId).after(performance.now() - startedMs));
  }

  /** Starts the worker with this id if the configuration has it and it is not running. */
  async #fill(workerId: number, delayMs: number): Promise<void> {
    if (delayMs > 0) await delay(delayMs);
    if (this.#stopping || !this.#shipment || !this.#missing(this.#shipment).includes(workerId)) return;
    try {
      await this.#spawn(workerId, this.#shipment);
      this.#options.log.write('notice', `worker ${workerId} was started again`);
    } catch (error) {
      this.#options.log.write('alert', `worker ${workerId} cannot start: ${(error as Error).message}`);
    }
  }

  /** Adapts the number of workers to a changed `worker_processes`. */
  async #resize(shipment: Shipment): Promise<void> {
    const wanted = shipment.plan.main.workers;
    for (const [id, thread] of this.#threads) if (id > wanted) thread.tell({ type: 'stop', graceful: true });
    await Promise.all(this.#missing(shipment).map((id) => this.#fill(id, 0)));
  }

  #missing({ plan }: Shipment): readonly number[] {
    const ids = Array.from({ length: plan.main.workers }, (_, index) => index + 1);
    return ids.filter((id) => !this.#threads.has(id) && !this.#starting.has(id));
  }

  /** Starts a worker; resolves when it listens. A worker that cannot is ended, which counts as a crash. */
  async #spawn(workerId: number, shipment: Shipment): Promise<void> {
    const { privileges } = this.#options;
    this.#starting.add(workerId);
    const openings = await privileges
      .openings(shipment.plan.ports, shipment.plan.main.workers)
      .finally(() => this.#starting.delete(workerId));
    if (this.#stopping) return;
    const heartbeats = this.#watchdog.watch(workerId);
    const acceptor = privileges.connect(workerId);
    const thread = new WorkerThread({ workerId, heartbeats, shipment, openings, acceptor }, this);
    this.#threads.set(workerId, thread);
    try {
      await thread.listening();
    } catch (error) {
      thread.tell({ type: 'stop', graceful: false });
      thread.stopping = false;
      throw error;
    }
  }

  #backOff(workerId: number): BackOff {
    const known = this.#backOffs.get(workerId) ?? new BackOff(RESTART);
    this.#backOffs.set(workerId, known);
    return known;
  }

  #endWhenEmpty(): void {
    if (!this.#stopping || this.#threads.size > 0) return;
    this.#watchdog.stop();
    this.#allGone();
  }
}

function refusalOf(
  result: PromiseSettledResult<Awaited<ReturnType<WorkerThread['ask']>>>,
): string | undefined {
  if (result.status === 'rejected') return String((result.reason as Error).message);
  return result.value.type === 'refused' ? result.value.reason : undefined;
}
