import { parentPort, workerData } from 'node:worker_threads';
import { PeerTable } from '../../../src/zone/index.ts';

/** Chooses the lighter of two peers `count` times, and keeps `held` requests open; posts how often each was chosen. */
const { buffer, gate, threadId, count, held } = workerData as {
  buffer: SharedArrayBuffer;
  gate: SharedArrayBuffer;
  threadId: number;
  count: number;
  held: number;
};
const table = new PeerTable(buffer, threadId);
const peers = [table.claim('a', 1), table.claim('b', 1)] as const;
const chosen = [0, 0];

parentPort?.postMessage('ready');
Atomics.wait(new Int32Array(gate), 0, 0);
for (let n = 0; n < count; n++) {
  const index = table.locked(() => {
    const lighter = peers[0].currentWeight <= peers[1].currentWeight ? 0 : 1;
    peers[lighter].currentWeight += 1;
    return lighter;
  });
  chosen[index] = (chosen[index] ?? 0) + 1;
  peers[index].enter(0);
  if (n >= held) peers[index].leave(0);
}
parentPort?.postMessage(chosen);
