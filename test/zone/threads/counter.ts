import { parentPort, workerData } from 'node:worker_threads';
import { DictionaryFault, openDictionary } from '../../../src/zone/index.ts';
import { isPayload, payloadOf } from './payload.ts';

/**
 * Once the gate opens: adds 1 to the counters, one after the other, `count` times in all, and now and then stores,
 * reads and deletes texts of varying length among other threads' texts. Posts every fault it found.
 */
const { buffer, gate, threadId, count, counters, texts, evict } = workerData as {
  buffer: SharedArrayBuffer;
  gate: SharedArrayBuffer;
  threadId: number;
  count: number;
  counters: number;
  texts: number;
  evict: boolean;
};
const dictionary = openDictionary(buffer, threadId, { evict });
const faults: string[] = [];

/** A call that could not get the lock has done nothing; that may happen on a busy machine. */
function patiently<T>(call: () => T): T {
  for (;;) {
    try {
      return call();
    } catch (error) {
      if (!(error instanceof DictionaryFault && error.refusal === 'busy')) throw error;
    }
  }
}

function look(key: string): void {
  const text = patiently(() => dictionary.get(key));
  if (text !== undefined && !isPayload(String(text))) faults.push(`torn: ${key} ${JSON.stringify(text)}`);
}

parentPort?.postMessage('ready');
Atomics.wait(new Int32Array(gate), 0, 0);
const startedMs = performance.now();
for (let n = 0; n < count; n++) {
  const sum = patiently(() => dictionary.incr(`counter ${n % counters}`, 1, { init: 0 }));
  if (sum === undefined || sum < 1) faults.push(`a counter is ${sum}`);
  if (n % 8 !== 0) continue;
  patiently(() => dictionary.set(`text ${n % texts}`, payloadOf(threadId, n)));
  look(`text ${(n + 8) % texts}`);
  if (n % 64 === 0) patiently(() => dictionary.delete(`text ${n % texts}`));
}
parentPort?.postMessage({ faults, tookMs: performance.now() - startedMs });
