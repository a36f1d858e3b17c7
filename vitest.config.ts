import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Most tests wait for a gateway more than they compute: one process more than there are cores keeps all of them busy. */
const WORKERS = availableParallelism() + 1;

export default defineConfig({
  test: {
    globalSetup: 'test/harness/global-setup.ts',
    setupFiles: 'test/harness/after-file.ts',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What a test waits for may take its time on a busy machine.
    expect: { poll: { timeout: 15_000 } },
    include: ['test/**/*.test.ts'],
    maxWorkers: WORKERS,
    // The files of a process share what they import.
    isolate: false,
  },
});
