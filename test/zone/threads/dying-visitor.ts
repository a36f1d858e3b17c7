import { workerData } from 'node:worker_threads';
import { openOpenRequests } from '../../../src/zone/index.ts';

/** Enters or leaves, and dies in that call, under the lock, just before or after its n-th call of an atomic. */
const { buffer, threadId, does, method, nth, side } = workerData as {
  buffer: SharedArrayBuffer;
  threadId: number;
  does: 'enter' | 'leave';
  method: 'store' | 'exchange';
  nth: number;
  side: 'before' | 'after';
};
const requests = openOpenRequests(buffer, threadId);
if (does === 'leave') requests.enter('key', 9);

const original = Atomics[method].bind(Atomics);
let calls = 0;
function die(): void {
  process.exit(7);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
Atomics[method] = ((words: Int32Array, index: number, value: number) => {
  const isLast = ++calls === nth;
  if (isLast && side === 'before') die();
  const result = original(words, index, value);
  if (isLast && side === 'after') die();
  return result;
}) as typeof Atomics.store;
requests[does]('key', 9);
