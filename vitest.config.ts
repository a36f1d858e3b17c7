import { defineConfig } from 'vitest/config';

/** What looks at texts only: its files share one process, and with it what they import. */
const OF_TEXTS = ['test/{check,config,grammar,plan,compile}/**/*.test.ts'];

export default defineConfig({
  test: {
    globalSetup: 'test/harness/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What a test waits for may take its time on a busy machine.
    expect: { poll: { timeout: 15_000 } },
    projects: [
      { extends: true, test: { name: 'texts', include: OF_TEXTS, isolate: false } },
      { extends: true, test: { name: 'gateway', include: ['test/**/*.test.ts'], exclude: OF_TEXTS } },
    ],
  },
});
