import { resolve } from 'node:path';
import { formatFaults } from '../grammar/index.ts';
import { readPidFile } from '../src/master/index.ts';
import { load } from '../src/pipeline.ts';
import type { Options, Signal } from './options.ts';
import { sourceOf } from './source.ts';

const NAMES: Readonly<Record<Signal, NodeJS.Signals>> = {
  stop: 'SIGTERM',
  quit: 'SIGQUIT',
  reopen: 'SIGUSR1',
  reload: 'SIGHUP',
};

/** `-s`: the configuration tells the pid file, the pid file the process. A broken configuration is never sent to reload. */
export function sendSignal(options: Options): number {
  const { plan, report } = load(sourceOf(options));
  process.stderr.write(formatFaults(report, { program: 'gw', color: process.stderr.isTTY }));
  if (!plan) return 1;
  try {
    const pid = readPidFile(resolve(plan.main.prefix, plan.main.core.pidFile));
    kill(pid, NAMES[options.signal as Signal]);
    return 0;
  } catch (error) {
    process.stderr.write(`gw: [error] ${(error as Error).message}\n`);
    return 1;
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (cause) {
    const reason =
      (cause as NodeJS.ErrnoException).code === 'ESRCH' ? '3: No such process' : '1: Operation not permitted';
    throw new Error(`kill(${pid}, ${signal}) failed (${reason})`, { cause });
  }
}
