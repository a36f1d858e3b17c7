import { expect, test } from 'vitest';
import { startProgram } from '../harness/program.ts';

/** The main thread releases memory while another one resets the flag, as a thread does that has just released its own. */
const PROGRAM = `
  import { isMainThread, Worker } from 'node:worker_threads';
  import { setFlagsFromString } from 'node:v8';
  import { releaseMemory } from '~/src/worker/release-memory.ts';
  if (isMainThread) {
    const other = new Worker(new URL(import.meta.url));
    other.once('message', () => {
      for (let n = 0; n < 20; n += 1) releaseMemory(0);
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
