import { readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { guardRegexes } from '../config/index.ts';
import { countLostLines } from '../contract/index.ts';
import { LogOpener } from '../log/index.ts';
import { countOpenFiles, openFilesLimit, openThreadClock } from '../system/index.ts';
import { type Counter, Counters, type Gauge, type Metric } from '../zone/index.ts';
import type { FromWorker, ToWorker, WorkerStart } from './messages.ts';
import { ThreadLog } from './thread-log.ts';
import { IdleMemory, releaseMemoryInTurn } from './release-memory.ts';
import { RESTARTS } from './restarts.ts';
import { AcceptorClient, Heartbeat } from './transport/index.ts';
import { Worker } from './worker.ts';

const LAG: Metric = {
  name: 'gw_worker_eventloop_lag_seconds',
  help: 'How much later than planned the event loop of a worker came to its last heartbeat.',
};
const HEAP: Metric = { name: 'gw_worker_heap_bytes', help: 'JavaScript heap that a worker uses.' };
const MEMORY: Metric = { name: 'process_resident_memory_bytes', help: 'Memory of the process.' };
const CPU: Metric = { name: 'process_cpu_seconds_total', help: 'CPU time of the process.' };

const OPEN: Metric = { name: 'process_open_fds', help: 'Open file descriptors of the process.' };
const MOST_OPEN: Metric = {
  name: 'process_max_fds',
  help: 'Greatest number of file descriptors that the process may open.',
};
const WORKER_CPU: Metric = {
  name: 'gw_worker_cpu_seconds_total',
  help: 'CPU time of the thread of a worker.',
};

/** The metrics that a worker updates at each heartbeat. */
class Vitals {
  readonly #metrics: Counters;
  readonly #everyMs: number;
  readonly #lag: Gauge;
  readonly #threadClock = openThreadClock();
  readonly #cpu: Counter | undefined;
  #cpuSeconds = 0;
  #lastMs = performance.now();

  constructor(metrics: Counters, { workerId, everyMs }: { workerId: number; everyMs: number }) {
    const worker = { worker: String(workerId) };
    this.#metrics = metrics;
    this.#everyMs = everyMs;
    this.#lag = metrics.gauge(LAG, worker);
    // A counter that appears with its first restart would hide it from rates.
    metrics.counter(RESTARTS, worker);
    if (this.#threadClock) this.#cpu = metrics.counter(WORKER_CPU, worker);
    metrics.sample(HEAP, worker, () => getHeapStatistics().used_heap_size);
    metrics.collect('gauge', { metric: MEMORY, read: () => process.memoryUsage.rss() });
    metrics.collect('counter', { metric: CPU, read: cpuSeconds });
    // Read each time: prlimit changes it while the process runs.
    if (Number.isFinite(openFilesLimit()))
      metrics.collect('gauge', { metric: MOST_OPEN, read: openFilesLimit });
    if (countOpenFiles() !== undefined)
      metrics.collect('gauge', { metric: OPEN, read: () => countOpenFiles() ?? NaN });
  }

  beat(): void {
    const now = performance.now();
    this.#lag.set(Math.max(0, now - this.#lastMs - this.#everyMs) / 1000);
    this.#lastMs = now;
    this.#addCpu();
    this.#metrics.refresh();
  }

  #addCpu(): void {
    const seconds = this.#threadClock?.();
    if (seconds === undefined) return;
    this.#cpu?.add(Math.max(0, seconds - this.#cpuSeconds));
    this.#cpuSeconds = seconds;
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Time between two heartbeats. The master interrupts a worker after 2 s without one. */
const HEARTBEAT_MS = 250;

/**
 * Buffers up to half this size share an allocation (Node's default is 8 KB). Long-lived buffers are allocated
 * separately.
 */
const POOL_BYTES = 65_536;

/** Runs a worker thread: executes the master's messages until it is told to stop. */
function main(port: NonNullable<typeof parentPort>, start: WorkerStart): void {
  guardRegexes();
  const { workerId, isFirst, heartbeats, shipment } = start;
  // Buffers for small files and pieces of bodies share an allocation: 0.04 instead of 0.5 microseconds for 4 KB.
  Buffer.poolSize = POOL_BYTES;
  const { core, prefix } = shipment.plan.main;
  const logOpener = new LogOpener();
  logOpener.use(shipment.logs);
  const metrics = new Counters(shipment.counters, workerId);
  const dropped = countLostLines(metrics);
  const log = new ThreadLog(core.errorLogs, { prefix, tid: workerId, opener: logOpener, dropped });
  const stopSign = new Int32Array(heartbeats, 0, 1);
  const isDraining = (): boolean => Atomics.load(stopSign, 0) === 1;
  const heartbeat = new Heartbeat(heartbeats, workerId);
  tellThreadId(heartbeats, workerId);
  const acceptor = acceptorOf(start);
  const worker = new Worker({ workerId, isFirst, log, logOpener, metrics, isDraining, heartbeat, acceptor });
  const tell = (message: FromWorker): void => port.postMessage(message);
  const end = endOnCrash(worker, tell);
  const vitals = new Vitals(metrics, { workerId, everyMs: HEARTBEAT_MS });
  const beat = beatRegularly(heartbeat, vitals);

  // Messages are processed in order, after the start, so that a reload never interferes with an unfinished one. Only
  // the end does not wait.
  const memory = new IdleMemory(start.releaseTurn);
  let last = prepare(worker, start, () => serve(worker, start))
    .then(tell)
    .finally(beat)
    .finally(() => memory.loaded());
  port.on('message', (message: ToWorker) => {
    if (message.type === 'stop') void worker.stop(message).then(() => leave(0), crash);
    else if (message.type === 'interrupted') end('it did not respond and was interrupted');
    else {
      last = last
        .then(() => obey(worker, message, tell))
        .catch(crash)
        .finally(() => memory.loaded());
    }
  });
}

/** Tells the master this thread's id in /proc. With it the master sees whether a silent worker gets CPU time at all. */
function tellThreadId(heartbeats: SharedArrayBuffer, workerId: number): void {
  const cells = new Int32Array(heartbeats);
  try {
    cells[cells.length / 2 + workerId] = Number(basename(readlinkSync('/proc/thread-self')));
  } catch {
    // Without the id, the master counts all time as the thread's own.
  }
}

/** Starts the heartbeat timer. Returns a function for an additional beat. */
function beatRegularly(heartbeat: Heartbeat, vitals: Vitals): () => void {
  const beat = (): void => {
    heartbeat.beat();
    vitals.beat();
  };
  setInterval(beat, HEARTBEAT_MS).unref();
  return beat;
}

function acceptorOf({ acceptor }: WorkerStart): AcceptorClient | undefined {
  return acceptor && new AcceptorClient(acceptor);
}

async function obey(
  worker: Worker,
  message: Exclude<ToWorker, { type: 'stop' | 'interrupted' }>,
  tell: (message: FromWorker) => void,
): Promise<void> {
  switch (message.type) {
    case 'prepare':
      return tell(await prepare(worker, message, () => ({ type: 'prepared' })));
    case 'switch':
      worker.switch();
      return tell({ type: 'switched' });
    case 'discard':
      return worker.discard();
    case 'reopen':
      worker.reopen(message.logs);
      return tell({ type: 'reopened' });
  }
}

/** Serves the first configuration. */
function serve(worker: Worker, { releaseTurn }: WorkerStart): FromWorker {
  releaseMemoryInTurn(releaseTurn);
  worker.switch();
  return { type: 'listening' };
}

/** Opens a configuration and its sockets. Returns the message for the master. */
async function prepare(
  worker: Worker,
  { shipment, openings }: Pick<WorkerStart, 'shipment' | 'openings'>,
  whenReady: () => FromWorker,
): Promise<FromWorker> {
  try {
    await worker.prepare(shipment, openings);
    return whenReady();
  } catch (error) {
    return { type: 'refused', reason: reasonOf(error) };
  }
}

/** Turns a failure that no caller handles into an uncaught exception, which ends this thread in an orderly way. */
function crash(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}

/**
 * After this time a crashed worker ends even if no other has replaced it. It is longer than the longest delay of a
 * restart and a start on a busy machine.
 */
const STAY_MS = 30_000;
/** After this many uncaught errors a worker ends. */
const MOST_ERRORS = 10;

/**
 * Handles uncaught exceptions and unhandled rejections. Reports a crash; the worker then serves until another one has
 * replaced it, if that one can open the same ports. Returns the function that ends the thread at once. A thread that
 * exits with an open uWebSockets.js socket aborts the process, so sockets are closed first.
 */
function endOnCrash(worker: Worker, tell: (message: FromWorker) => void): (reason: string) => void {
  let isEnding = false;
  let errors = 0;
  const end = (reason: string): void => {
    // The master repeats an interruption until the thread has ended.
    if (isEnding) return;
    isEnding = true;
    tell({ type: 'crashed', reason, stays: false });
    void worker.cut().finally(() => leave(1));
  };
  process.on('uncaughtException', (error) => {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    errors += 1;
    if (isEnding || !worker.canStay || errors === MOST_ERRORS) return end(reason);
    tell({ type: 'crashed', reason, stays: true });
    if (errors === 1) setTimeout(() => end('no worker took its place'), STAY_MS);
  });
  return end;
}

/** Exits in the next turn of the event loop, after closed sockets have been removed from it. */
function leave(code: number): void {
  setImmediate(() => process.exit(code));
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

if (parentPort) main(parentPort, workerData as WorkerStart);
