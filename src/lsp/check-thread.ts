import { parentPort } from 'node:worker_threads';
import { type CheckJob, type CheckReply, checkRoot } from './checker.ts';

parentPort?.on('message', (job: CheckJob) => {
  checkRoot(job).then(
    (findings) => reply({ findings }),
    (error: unknown) => reply({ failed: String((error as Error).stack ?? error) }),
  );
});

function reply(message: CheckReply): void {
  parentPort?.postMessage(message);
}
