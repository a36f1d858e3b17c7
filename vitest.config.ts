import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/harness/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What a test waits for may take its time on a busy machine.
    expect: { poll: { timeout: 15_000 } },
  },
});
