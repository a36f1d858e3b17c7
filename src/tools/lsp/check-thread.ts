import { parentPort } from 'node:worker_threads';
import { type CheckJob, type CheckResult, checkRoot } from './checker.ts';

parentPort?.on('message', (job: CheckJob) => {
  checkRoot(job).then(
    (findings) => post({ findings }),
    (error: unknown) => post({ failed: String((error as Error).stack ?? error) }),
  );
});

function post(result: CheckResult): void {
  parentPort?.postMessage(result);
}
