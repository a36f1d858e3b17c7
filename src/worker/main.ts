import { parentPort, threadId, workerData } from 'node:worker_threads';
import { openErrorLogs } from '../log/index.ts';
import type { FromWorker, ToWorker, WorkerStart } from './messages.ts';
import { Worker } from './worker.ts';

/** Between two beats; the master complains after 2 s of silence. */
const HEARTBEAT_MS = 250;

/** The body of a worker thread: obeys the master until it is told to stop. */
async function main(
  port: NonNullable<typeof parentPort>,
  { workerId, heartbeats, shipment }: WorkerStart,
): Promise<void> {
  const { core, prefix } = shipment.plan.main;
  const log = openErrorLogs(core.errorLogs, { prefix, tid: threadId });
  const worker = new Worker(workerId, log);
  const tell = (message: FromWorker): void => port.postMessage(message);
  guardAgainstCrashes(worker, tell);
  beat(new Int32Array(heartbeats), workerId);

  const obey = async (message: ToWorker): Promise<void> => {
    switch (message.type) {
      case 'prepare':
        return prepare(worker, message.shipment, tell);
      case 'switch':
        return tell({ type: 'switched', generation: await worker.switch() });
      case 'discard':
        return worker.discard();
      case 'reopen':
        log.reopen();
        return worker.reopen();
      case 'stop':
        await worker.stop(message.graceful);
        return port.close();
    }
  };
  // One message after the other: a second reload never meets a first one half done.
  let last = Promise.resolve();
  port.on('message', (message: ToWorker) => {
    last = last.then(() => obey(message)).catch((error: unknown) => crash(error));
  });
  await worker.prepare(shipment);
  await worker.switch();
  tell({ type: 'listening' });
}

async function prepare(
  worker: Worker,
  shipment: WorkerStart['shipment'],
  tell: (message: FromWorker) => void,
): Promise<void> {
  const { generation } = shipment;
  try {
    await worker.prepare(shipment);
    tell({ type: 'prepared', generation });
  } catch (error) {
    tell({ type: 'refused', generation, reason: reasonOf(error) });
  }
}

/** Turns a failure that nobody waits for into an uncaught exception, which ends this thread in good order. */
function crash(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}

/**
 * A thread that leaves with an open uWebSockets.js socket aborts the process, so sockets go first. Unhandled rejections
 * come here as well.
 */
function guardAgainstCrashes(worker: Worker, tell: (message: FromWorker) => void): void {
  process.on('uncaughtException', (error) => {
    tell({
      type: 'crashed',
      reason: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    worker.cut();
    setImmediate(() => process.exit(1));
  });
}

function beat(counters: Int32Array, workerId: number): void {
  setInterval(() => Atomics.add(counters, workerId, 1), HEARTBEAT_MS).unref();
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

if (parentPort) main(parentPort, workerData as WorkerStart).catch(crash);
