import type { SendHandle } from 'node:child_process';
import { nameProcess } from '../process-name.ts';

// Sends each socket back to its process, which thereby gets a copy of it.

nameProcess('socket copies');
process.on('message', (message: object, socket: SendHandle) => void process.send?.(message, socket));
process.on('disconnect', () => process.exit());
// A terminal sends its signals to all of its processes.
for (const signal of ['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const)
  process.on(signal, () => undefined);
