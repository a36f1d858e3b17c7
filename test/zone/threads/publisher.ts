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
  const event = { channel: `writer.${threadId}`, type: 't', payload: payloadOf(threadId, n) };
  // A publish that could not get the lock has done nothing; that may happen on a busy machine.
  let published = ring.publish(event);
  while (published === undefined) published = ring.publish(event);
  generations[n] = published.generation;
  if (published.evicted) evicted++;
}
parentPort?.postMessage({ generations, evicted, tookMs: performance.now() - startedMs });
