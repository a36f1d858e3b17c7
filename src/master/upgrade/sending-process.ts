import type { SendHandle } from 'node:child_process';
import { type BoundSocket, wrapSocket } from '../bound-sockets.ts';
import { nameProcess } from '../process-name.ts';

// Sends the sockets that it has inherited to its process, one by one, and ends.

/** After standard input, output, error and the channel. */
const FIRST_DESCRIPTOR = 4;

nameProcess('socket copies');
for (const signal of ['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const)
  process.on(signal, () => undefined);
// The parent kills this process when it has all of them.
process.on('disconnect', () => process.exit());
for (let index = 0; index < Number(process.argv[2]); index += 1) {
  const socket = wrapSocket(FIRST_DESCRIPTOR + index);
  process.send?.({ index }, socket as BoundSocket & SendHandle);
}
