import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Most tests wait for a gateway more than they compute: some processes more than there are cores keep all of them busy. */
const WORKERS = availableParallelism() + 2;

/** Where files take much longer than their size says, by which vitest sorts those that it has not run yet. */
const LONG =
  /\/test\/(cluster|conf|conformance|http\/hostile|master|modules\/(acme|control)|tools\/(explain|lsp)|work|worker)\/|\/(picks|plan-cache-life|prober)\.test\.ts$/;

/** Long files last would keep one process busy and the others idle. */
class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

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
    env: { GW_TEST_WORKERS: String(WORKERS) },
    sequence: { sequencer: LongFilesFirst },
    // The files of a process share what they import.
    isolate: false,
    // A run takes the modules that the one before has transformed, if they are the same: a third of what importing all costs.
    experimental: { fsModuleCache: true },
  },
});
