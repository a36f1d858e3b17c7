import { parentPort } from 'node:worker_threads';
import { checkRoot } from './check.ts';
import type { CheckJob } from './check.ts';
import type { CheckReply } from './checker.ts';

parentPort?.on('message', (job: CheckJob) => {
  checkRoot(job).then(
    (findings) => reply({ findings }),
    (error: unknown) => reply({ failed: String((error as Error).stack ?? error) }),
  );
});

function reply(message: CheckReply): void {
  parentPort?.postMessage(message);
}
