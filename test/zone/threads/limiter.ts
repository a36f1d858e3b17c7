import { parentPort, workerData } from 'node:worker_threads';
import { admit, type RateLimit } from '../../../src/modules/limit_req/leaky-bucket.ts';
import { openRequestRates } from '../../../src/zone/index.ts';

/** Applies several limits together, `count` times at one moment of the clock; posts how often the request passed. */
const { zones, gate, threadId, count, burst } = workerData as {
  zones: readonly SharedArrayBuffer[];
  gate: SharedArrayBuffer;
  threadId: number;
  count: number;
  burst: number;
};
const limits: RateLimit[] = zones.map((zone) => ({
  rates: openRequestRates(zone, threadId),
  key: 'k',
  milliRequestsPerSecond: 1000,
  burst: burst * 1000,
  delay: Infinity,
}));
let passed = 0;

parentPort?.postMessage('ready');
Atomics.wait(new Int32Array(gate), 0, 0);
for (let n = 0; n < count; n++) {
  let says = admit(limits, 0);
  // That may happen on a busy machine; nothing was counted.
  while (says.verdict === 'failed') says = admit(limits, 0);
  if (says.verdict === 'passed') passed++;
}
parentPort?.postMessage(passed);
