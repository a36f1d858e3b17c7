import type { SendHandle } from 'node:child_process';
import { closeHandle } from '../bound-sockets.ts';
import { nameProcess } from '../process-name.ts';
import { Keeper } from './keeper.ts';
import type { FromKeeper, ToKeeper } from '../rights/index.ts';

// The keeper of a gateway without a supervisor (`master_process off`): a child process that stays root and ends with its
// parent.

nameProcess('keeper');
const keeper = new Keeper({
  source: process.argv[2] as string,
  pid: process.ppid,
  // The gateway may end before the answer arrives.
  answer: (message: FromKeeper, socket) =>
    void process.send?.(message, socket as SendHandle, undefined, () => undefined),
});
process.on('message', (message: ToKeeper, handle: SendHandle) => {
  // An attacker in control of the serving process may send sockets.
  closeHandle(handle);
  keeper.receive(message);
});
process.on('disconnect', () => {
  keeper.end();
  process.exit();
});
// A terminal sends its signals to all of its processes, and `killall` to all with a name. An unhandled SIGUSR1 would
// open the debugger of Node.js, and a client of its port would be root.
const SIGNALS = ['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const;
for (const signal of SIGNALS) process.on(signal, () => undefined);
