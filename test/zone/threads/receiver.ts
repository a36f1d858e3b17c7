import { parentPort, workerData } from 'node:worker_threads';
import { openRing } from '../../../src/zone/index.ts';
import { receivedAt } from './received.ts';

/** Receives `count` events in lots of `lot` once the gate opens; posts every generation that they got. */
const { buffer, gate, threadId, count, lot } = workerData as {
  buffer: SharedArrayBuffer;
  gate: SharedArrayBuffer;
  threadId: number;
  count: number;
  lot: number;
};
const ring = openRing(buffer, threadId);
const generations: number[] = [];

parentPort?.postMessage('ready');
Atomics.wait(new Int32Array(gate), 0, 0);
while (generations.length < count) {
  const events = Array.from({ length: lot }, (_, n) => receivedAt(generations.length + n + 1));
  let last = ring.receive(events);
  while (last === undefined) last = ring.receive(events);
  for (let n = 1; n <= lot; n++) generations.push(last - lot + n);
}
parentPort?.postMessage({ generations });
