import { parentPort, workerData } from 'node:worker_threads';
import { openOpenRequests } from '../../../src/zone/index.ts';

/** Enters and leaves `count` times; posts the largest number of others inside at the same time, and how often it was let in. */
const { buffer, inside, gate, threadId, count, limit } = workerData as {
  buffer: SharedArrayBuffer;
  inside: SharedArrayBuffer;
  gate: SharedArrayBuffer;
  threadId: number;
  count: number;
  limit: number;
};
const requests = openOpenRequests(buffer, threadId);
const here = new Int32Array(inside);
let most = 0;
let entered = 0;

parentPort?.postMessage('ready');
Atomics.wait(new Int32Array(gate), 0, 0);
for (let n = 0; n < count; n++) {
  const key = `k${n % 3}`;
  if (requests.enter(key, limit) !== 'counted') continue;
  entered++;
  most = Math.max(most, Atomics.add(here, n % 3, 1) + 1);
  Atomics.sub(here, n % 3, 1);
  requests.leave(key);
}
parentPort?.postMessage({ most, entered });
