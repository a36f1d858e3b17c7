import { workerData } from 'node:worker_threads';
import { openDictionary } from '../../../src/zone/index.ts';

/** Writes `key` and dies in that call, under the lock, just before or after its n-th call of an atomic. */
const {
  buffer,
  threadId,
  method,
  nth,
  side,
  act = 'set',
} = workerData as {
  buffer: SharedArrayBuffer;
  threadId: number;
  method: 'store' | 'exchange' | 'add';
  nth: number;
  side: 'before' | 'after';
  act?: 'set' | 'delete' | 'incr';
};
const dictionary = openDictionary(buffer, threadId);

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
if (act === 'set') dictionary.set('key', 'new '.repeat(100));
else if (act === 'delete') dictionary.delete('key');
else dictionary.incr('number', 1);
