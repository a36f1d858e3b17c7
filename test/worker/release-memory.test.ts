import { expect, test } from 'vitest';
import { startProgram } from '../harness/program.ts';

/** The main thread releases memory while another one resets the flag, as a thread does that has just released its own. */
const PROGRAM = `
  import { isMainThread, Worker } from 'node:worker_threads';
  import { setFlagsFromString } from 'node:v8';
  import { releaseMemoryInTurn } from '~/src/worker/release-memory.ts';
  if (isMainThread) {
    const other = new Worker(new URL(import.meta.url));
    other.once('message', () => {
      const turn = new SharedArrayBuffer(4);
      for (let n = 0; n < 20; n += 1) releaseMemoryInTurn(turn, 0);
      console.log('released');
      other.terminate();
    });
  } else {
    const { parentPort } = await import('node:worker_threads');
    parentPort.postMessage('resetting');
    for (;;) setFlagsFromString('--no-expose-gc');
  }
`;

test('a thread releases its memory while another one resets the flags of V8, which are those of the process', async (t) => {
  const program = await startProgram(t, PROGRAM);
  expect(program.output()).toBe('released\n');
});

/** Each thread has some 80 MB of garbage in its heap, and tells how much of the heap is left. */
const TOGETHER = `
  import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
  import { getHeapStatistics } from 'node:v8';
  import { releaseMemoryInTurn } from '~/src/worker/release-memory.ts';
  if (isMainThread) {
    const workerData = new SharedArrayBuffer(4);
    const threads = Array.from({ length: 3 }, () => new Worker(new URL(import.meta.url), { workerData }));
    const heaps = await Promise.all(threads.map((thread) => new Promise((resolve) => thread.once('message', resolve))));
    console.log(heaps.filter((bytes) => bytes < 60_000_000).length);
  } else {
    let kept = Array.from({ length: 400_000 }, (_, n) => ({ n, text: [n] }));
    kept = undefined;
    releaseMemoryInTurn(workerData, 0);
    parentPort.postMessage(getHeapStatistics().total_heap_size);
  }
`;

test('threads that release their memory at the same time all do', async (t) => {
  const program = await startProgram(t, TOGETHER);
  expect(program.output()).toBe('3\n');
});

/** Tells whether memory was released while it was busy, or once it was idle; V8 collects by itself at any time. */
const BUSY_THEN_IDLE = `
  import { IdleMemory } from '~/src/worker/release-memory.ts';
  // Who has released memory gives the turn back.
  const { store } = Atomics;
  let isReleased = false;
  Atomics.store = (...args) => {
    isReleased = true;
    return store(...args);
  };
  let turns = 0;
  const busy = setInterval(() => {
    // The first turn of the loop has passed: until then nothing is known of its use.
    if (turns === 1) new IdleMemory(new SharedArrayBuffer(4), 50).loaded();
    for (const end = performance.now() + 5; performance.now() < end; );
    if (++turns < 50) return;
    clearInterval(busy);
    const wasBusy = isReleased;
    const idle = setInterval(() => {
      if (!isReleased) return;
      clearInterval(idle);
      console.log(wasBusy ? 'released while busy' : 'released when idle');
    }, 100);
  }, 6);
`;

test('a thread releases its memory when it has been idle, not while it is busy', async (t) => {
  const program = await startProgram(t, BUSY_THEN_IDLE);
  expect(program.output()).toBe('released when idle\n');
});
