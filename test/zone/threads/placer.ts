import { parentPort, workerData } from 'node:worker_threads';
import { openRing } from '../../../src/zone/index.ts';

/** Gives generation 1 one place after another until its word is set, then ends. */
const { buffer, threadId, counters, end } = workerData as {
  buffer: SharedArrayBuffer;
  threadId: number;
  counters: readonly number[];
  end: SharedArrayBuffer;
};
const ring = openRing(buffer, threadId);
const ended = new Int32Array(end);
parentPort?.postMessage('ready');
while (Atomics.load(ended, 0) === 0)
  for (const counter of counters) ring.confirm([{ generation: 1, counter }]);
