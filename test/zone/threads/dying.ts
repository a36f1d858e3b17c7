import { workerData } from 'node:worker_threads';
import { openRing } from '../../../src/zone/index.ts';
import { receivedAt } from './received.ts';

/**
 * Publishes `healthy` events, then dies inside a publish, or while it receives events at the given counters, under the lock,
 * just before its n-th `Atomics.add`.
 */
const { buffer, threadId, healthy, diesAt, counters } = workerData as {
  buffer: SharedArrayBuffer;
  threadId: number;
  healthy: number;
  diesAt: number;
  counters?: readonly number[];
};
const ring = openRing(buffer, threadId);
const event = { channel: 'c', type: 't', payload: 'from the one who dies' };
for (let n = 0; n < healthy; n++) ring.publish(event);

const add = Atomics.add.bind(Atomics);
let calls = 0;
Atomics.add = ((words: Int32Array, index: number, value: number) => {
  if (++calls === diesAt) {
    process.exit(7);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }
  return add(words, index, value);
}) as typeof Atomics.add;
if (counters) ring.receive(counters.map(receivedAt));
else ring.publish(event);
