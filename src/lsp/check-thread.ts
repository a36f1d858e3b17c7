import { parentPort } from 'node:worker_threads';
import { type CheckJob, type CheckResult, checkRoot } from './checker.ts';

parentPort?.on('message', (job: CheckJob) => {
  checkRoot(job).then(
    (findings) => reply({ findings }),
    (error: unknown) => reply({ failed: String((error as Error).stack ?? error) }),
  );
});

function reply(message: CheckResult): void {
  parentPort?.postMessage(message);
}
