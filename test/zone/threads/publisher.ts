import { parentPort, workerData } from 'node:worker_threads';
import { openRing } from '../../../src/zone/index.ts';
import { payloadOf } from './payload.ts';

/** Publishes `count` events as fast as it can once the gate opens; posts every generation it was given. */
const { buffer, gate, threadId, count } = workerData as {
  buffer: SharedArrayBuffer;
  gate: SharedArrayBuffer;
  threadId: number;
  count: number;
};
const ring = openRing(buffer, threadId);
const generations = new Float64Array(count);
let evicted = 0;

parentPort?.postMessage('ready');
Atomics.wait(new Int32Array(gate), 0, 0);
const startedMs = performance.now();
for (let n = 0; n < count; n++) {
  const published = ring.publish({
    channel: `writer.${threadId}`,
    type: 't',
    payload: payloadOf(threadId, n),
  });
  if (published === undefined) throw new Error('the lock was not to be had');
  generations[n] = published.generation;
  if (published.evicted) evicted++;
}
parentPort?.postMessage({ generations, evicted, tookMs: performance.now() - startedMs });
