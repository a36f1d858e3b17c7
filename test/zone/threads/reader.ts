import { parentPort, workerData } from 'node:worker_threads';
import { openRing, type RingEntry } from '../../../src/zone/index.ts';
import { isPayload } from './payload.ts';
import { hasRightFields } from './received.ts';

/**
 * Reads until it sees generation `last`, by single reads or by snapshots; posts what it saw and every fault it
 * found.
 */
const { buffer, threadId, last, how } = workerData as {
  buffer: SharedArrayBuffer;
  threadId: number;
  last: number;
  how: 'read' | 'snapshot';
};
const ring = openRing(buffer, threadId);
const faults: string[] = [];
let seen = 0;
let lapped = 0;
let cursor = 1;
let position = 0;

function look(entry: RingEntry): void {
  if (!isPayload(entry.payload) || !hasRightFields(entry)) faults.push(`torn: ${JSON.stringify(entry)}`);
  if (entry.position < position) faults.push(`position ${entry.position} after ${position}`);
  if (entry.generation < cursor) faults.push(`${entry.generation} came again or out of order`);
  lapped += entry.generation - cursor;
  seen++;
  cursor = entry.generation + 1;
  position = entry.position;
}

function readOne(): void {
  const range = ring.range();
  if (range === undefined || cursor > range.newest) return;
  if (cursor < range.oldest) {
    lapped += range.oldest - cursor;
    cursor = range.oldest;
  }
  const entry = ring.read(cursor);
  if (entry !== undefined) look(entry);
}

function readAll(): void {
  const snapshot = ring.snapshot({ since: cursor - 1 });
  if (snapshot === undefined) return;
  const { entries, oldestGeneration, newestGeneration } = snapshot;
  const expected = newestGeneration - Math.max(oldestGeneration, cursor) + 1;
  if (entries.length !== Math.max(0, expected))
    faults.push(`${entries.length} entries instead of ${expected}`);
  if (snapshot.droppedEvents !== Math.max(0, newestGeneration - ring.capacity))
    faults.push('wrong count of dropped');
  entries.forEach(look);
}

parentPort?.postMessage('ready');
while (cursor <= last) (how === 'read' ? readOne : readAll)();
parentPort?.postMessage({ seen, lapped, faults });
