import { parentPort, workerData } from 'node:worker_threads';
import { openRing } from '../../../src/zone/index.ts';

/**
 * Posts the newest generation after each wake; ends by itself when its port is closed, while the watch is still open.
 */
const { buffer, threadId } = workerData as { buffer: SharedArrayBuffer; threadId: number };
const ring = openRing(buffer, threadId);
ring.watch(() => parentPort?.postMessage(ring.range()?.newest));
parentPort?.on('message', () => parentPort?.close());
parentPort?.postMessage('ready');
