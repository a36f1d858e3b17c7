import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorLog } from '../log/index.ts';
import { addressText } from '../plan/index.ts';
import type { Shipment } from '../worker/index.ts';
import { BackOff } from './back-off.ts';
import type { Privileges } from './privileges/index.ts';
import { MAX_WORKERS, Watchdog } from './watchdog.ts';
import { type ThreadEvents, WorkerThread } from './worker-thread.ts';

/** Delays of restarts. A worker is restarted at once after the first crash, and with a delay after further crashes. */
const RESTART = { firstMs: 200, maxMs: 5_000, steadyMs: 10_000 };

/** Time for a crashed worker to finish its requests after another one has replaced it. */
const LEAVE_MS = 5_000;

const MIN_SPARE_IDS = 4;

/** Returns the largest id of a worker. There are enough spare ids to replace each worker while it still serves. */
export function largestIdOf(workers: number): number {
  return Math.min(workers + Math.max(workers, MIN_SPARE_IDS), MAX_WORKERS - 1);
}

/** Options of `Workers`. */
interface WorkersOptions {
  readonly log: ErrorLog;
  readonly privileges: Pick<Privileges, 'openings' | 'connect' | 'hold'>;
  /** Called before the id of a thread is reused. Releases what the thread held in shared memory. */
  readonly release: (workerId: number, isAccident: boolean) => void;
}

/**
 * The worker threads. The configuration determines their number. Crashed workers are replaced, if possible while they
 * still serve, so that their ports never close.
 */
export class Workers implements ThreadEvents {
  readonly #options: WorkersOptions;
  readonly #threads = new Map<number, WorkerThread>();
  /** Ids of workers that are being started. */
  readonly #starting = new Set<number>();
  #firstStarts = false;
  readonly #watchdog: Watchdog;
  readonly #releaseTurn = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
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

  /** Starts the workers. Resolves when all of them listen; rejects if one cannot. */
  async start(shipment: Shipment): Promise<void> {
    if (this.#stopping) return;
    this.#shipment = shipment;
    this.#watchdog.start();
    await Promise.all(this.#missing(shipment).map((id) => this.#spawn(id, shipment, new BackOff(RESTART))));
  }

  /** Moves all workers to the new configuration, or none. Resolves to the reason of a refusal. */
  async reload(shipment: Shipment): Promise<string | undefined> {
    const threads = this.#steady();
    const known = new Set(this.#shipment?.plan.ports.map(({ address }) => addressText(address)));
    const added = shipment.plan.ports.filter(({ address }) => !known.has(addressText(address)));
    const answers = await Promise.allSettled(threads.map((thread) => this.#prepare(thread, shipment, added)));
    const refusal = answers.map(refusalOf).find((reason) => reason !== undefined);
    if (refusal !== undefined || this.#stopping) {
      for (const thread of threads) thread.tell({ type: 'discard' });
      return refusal ?? 'the gateway is stopping';
    }
    this.#shipment = shipment;
    // A worker that ends now is replaced by one with the new configuration.
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
    const openings = await this.#options.privileges.openings(added);
    return thread.ask({ type: 'prepare', shipment, openings });
  }

  /** Announces the stop. Workers continue to serve, and `ready` probes fail. */
  announceStop(): void {
    this.#watchdog.announceStop();
  }

  /** Reopens the logs of all workers. Resolves when they have done so. */
  async reopen(logs: Shipment['logs']): Promise<void> {
    if (this.#shipment) this.#shipment = { ...this.#shipment, logs };
    const threads = [...this.#threads.values()];
    await Promise.allSettled(threads.map((thread) => thread.ask({ type: 'reopen', logs })));
  }

  /** Stops all threads; resolves when the last one has ended. A second call without `graceful` hurries them. */
  stop(how: { readonly graceful: boolean; readonly isReplaced?: boolean }): Promise<void> {
    this.#stopping = true;
    for (const thread of this.#threads.values()) thread.tell({ type: 'stop', ...how });
    this.#endWhenEmpty();
    return this.#gone;
  }

  crashed(thread: WorkerThread, reason: string, stays: boolean): void {
    const { workerId, failed } = thread;
    this.#options.log.write('alert', `worker ${workerId} crashed: ${reason.replaceAll('\n', ' ')}`);
    if (!failed) thread.failed = true;
    if (!failed && stays && !this.#stopping) void this.#replace(thread);
  }

  /** Starts another worker while this one still serves, and then ends this one. */
  async #replace(thread: WorkerThread): Promise<void> {
    thread.replaced = true;
    thread.replaced = await this.#fill(thread);
    thread.tell({ type: 'stop', graceful: true });
    await delay(LEAVE_MS, undefined, { ref: false });
    if (this.#threads.get(thread.workerId) === thread) thread.tell({ type: 'stop', graceful: false });
  }

  exited(thread: WorkerThread): void {
    const { workerId, stopping, failed } = thread;
    this.#threads.delete(workerId);
    this.#watchdog.forget(workerId);
    this.#options.release(workerId, failed || !stopping);
    this.#endWhenEmpty();
    if (!thread.replaced) void this.#fill(thread);
  }

  /** Replaces a worker that has ended or will end, if the configuration has room for it. False: no id is free. */
  async #fill({ workerId, startedMs, stopping, backOff }: WorkerThread): Promise<boolean> {
    const delayMs = stopping ? 0 : backOff.after(performance.now() - startedMs);
    if (delayMs > 0) await delay(delayMs);
    if (this.#stopping || !this.#shipment) return true;
    const [id] = this.#missing(this.#shipment);
    if (id !== undefined) await this.#startAgain(id, { workerId, backOff });
    return id !== undefined;
  }

  async #startAgain(id: number, before: Pick<WorkerThread, 'workerId' | 'backOff'>): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#spawn(id, this.#shipment as Shipment, before.backOff);
      const text = id === before.workerId ? '' : ` as worker ${id}`;
      log.write('notice', `worker ${before.workerId} was started again${text}`);
    } catch (error) {
      log.write('alert', `worker ${id} cannot start: ${(error as Error).message}`);
    }
  }

  /** Adapts the number of workers to a changed `worker_processes`. */
  async #resize(shipment: Shipment): Promise<void> {
    const steady = this.#steady().sort((one, other) => Number(other.isFirst) - Number(one.isFirst));
    for (const thread of steady.slice(shipment.plan.main.workers))
      thread.tell({ type: 'stop', graceful: true });
    const missing = this.#missing(shipment);
    await Promise.all(
      missing.map((workerId) => this.#startAgain(workerId, { workerId, backOff: new BackOff(RESTART) })),
    );
  }

  #steady(): WorkerThread[] {
    return [...this.#threads.values()].filter(({ isSteady }) => isSteady);
  }

  /** Returns free ids for the workers that the configuration has but that neither serve nor start. */
  #missing({ plan: { main } }: Shipment): readonly number[] {
    const ids = Array.from({ length: largestIdOf(main.workers) }, (_, index) => index + 1);
    const lacking = main.workers - this.#steady().length - this.#starting.size;
    const free = ids.filter((id) => !this.#threads.has(id) && !this.#starting.has(id));
    return free.slice(0, Math.max(0, lacking));
  }

  /** Starts a worker; resolves when it listens. A worker that cannot listen is ended, which counts as a crash. */
  async #spawn(workerId: number, shipment: Shipment, backOff: BackOff): Promise<void> {
    const { privileges } = this.#options;
    const isFirst = !this.#steady().some((thread) => thread.isFirst) && !this.#firstStarts;
    this.#starting.add(workerId);
    this.#firstStarts ||= isFirst;
    const openings = await privileges.openings(shipment.plan.ports).finally(() => {
      this.#starting.delete(workerId);
      if (isFirst) this.#firstStarts = false;
    });
    if (this.#stopping) return;
    const heartbeats = this.#watchdog.watch(workerId);
    const acceptor = privileges.connect(workerId);
    const releaseTurn = this.#releaseTurn;
    const start = { workerId, isFirst, heartbeats, releaseTurn, shipment, openings, acceptor };
    const thread = new WorkerThread(start, this, backOff);
    this.#threads.set(workerId, thread);
    try {
      await thread.listening();
    } catch (error) {
      thread.tell({ type: 'stop', graceful: false });
      thread.stopping = false;
      throw error;
    }
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
