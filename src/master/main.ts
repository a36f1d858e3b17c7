import { setFlagsFromString } from 'node:v8';
import { formatFaults } from '../../grammar/index.ts';
import type { Report } from '../../grammar/index.ts';
import { openErrorLogs } from '../log/index.ts';
import { load } from '../pipeline.ts';
import type { ConfigSource } from '../pipeline.ts';
import { Master } from './master.ts';
import type { ToSupervisor } from './supervisor.ts';

const ALIVE_MS = 1_000;

/** Runs the gateway in this process until a signal ends it. Gives the exit code. */
export async function runMaster(source: ConfigSource): Promise<number> {
  guardRegexes();
  const { plan, report } = load(source);
  const show = (found: Report): void =>
    void process.stderr.write(formatFaults(found, { program: 'gw', color: process.stderr.isTTY }));
  show(report);
  if (!plan) return 1;

  const { core, prefix } = plan.main;
  const log = openErrorLogs(core.errorLogs, { prefix, tid: 0 });
  const supervisor = Number(process.env['GW_SUPERVISOR']);
  const master = new Master({ source, plan, log, show, signalPid: supervisor || process.pid });
  const stopped = untilStopped(master);
  try {
    await master.start();
  } catch (error) {
    log.write('emerg', (error as Error).message);
    if (!log.writesTo('stderr')) process.stderr.write(`gw: [emerg] ${(error as Error).message}\n`);
    await master.stop({ graceful: false });
    return 1;
  }
  reportToSupervisor(master);
  await stopped;
  log.close();
  return 0;
}

/**
 * V8 goes on with its linear engine after so many backtracks, so that no pattern can hang a worker. The flags must be set
 * before the first worker starts; look-arounds and back-references stay outside of it.
 */
function guardRegexes(): void {
  setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
  setFlagsFromString('--regexp-backtracks-before-fallback=20000');
}

/** nginx's signals. */
function untilStopped(master: Master): Promise<void> {
  process.on('SIGHUP', () => void master.reload());
  process.on('SIGUSR1', () => master.reopen());
  return new Promise((resolve) => {
    process.on('SIGQUIT', () => void master.stop({ graceful: true }).then(resolve));
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => void master.stop({ graceful: false }).then(resolve));
    }
  });
}

/** Tells the supervisor that the gateway serves, and keeps telling that it lives; when it is gone, stops. */
function reportToSupervisor(master: Master): void {
  const send = (message: ToSupervisor): unknown => process.connected && process.send?.(message);
  if (!process.send) return;
  send({ type: 'ready' });
  setInterval(() => send({ type: 'alive' }), ALIVE_MS).unref();
  process.on('disconnect', () => void master.stop({ graceful: true }).then(() => process.exit(0)));
}

/** The child that the supervisor forks: its arguments are the source of the configuration as JSON. */
if (process.env['GW_SUPERVISOR'] !== undefined && process.argv[2] !== undefined) {
  process.exitCode = await runMaster(JSON.parse(process.argv[2]) as ConfigSource);
  process.disconnect?.();
}
