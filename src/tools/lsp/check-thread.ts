import { parentPort } from 'node:worker_threads';
import { guardRegexes } from '../../config/index.ts';
import { type CheckJob, type CheckResult, checkRoot } from './checker.ts';

// Threads that read configurations at the same time must not change the flags of V8 for each pattern.
guardRegexes();

parentPort?.on('message', (job: CheckJob) => {
  checkRoot(job).then(
    (findings) => post({ findings }),
    (error: unknown) => post({ failed: String((error as Error).stack ?? error) }),
  );
});

function post(result: CheckResult): void {
  parentPort?.postMessage(result);
}
