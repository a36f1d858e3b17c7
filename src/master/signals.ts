import type { ErrorLog } from '../log/index.ts';
import type { Master } from './master.ts';

const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGUSR1: 10, SIGUSR2: 12, SIGTERM: 15, SIGWINCH: 28 };

/** Signals that nginx has for exchanging its program while it runs. */
const OF_AN_UPGRADE = {
  SIGUSR2: 'gw does not start a new program beside itself: restart it',
  SIGWINCH: 'gw does not stop its workers alone: use SIGQUIT',
} as const;

/** Obeys nginx's signals; resolves when one of them has ended the gateway. */
export function untilStopped(master: Master, log: ErrorLog): Promise<void> {
  const on = (signal: keyof typeof NUMBERS, does: string, act: () => void): void => {
    process.on(signal, () => {
      log.write('notice', `signal ${NUMBERS[signal]} (${signal}) received, ${does}`);
      act();
    });
  };
  on('SIGHUP', 'reconfiguring', () => master.reload());
  on('SIGUSR1', 'reopening logs', () => master.reopen());
  on('SIGUSR2', OF_AN_UPGRADE.SIGUSR2, () => undefined);
  // A terminal sends it whenever its window changes; nginx too listens in the background only.
  if (process.env['GW_DAEMON'] !== undefined) on('SIGWINCH', OF_AN_UPGRADE.SIGWINCH, () => undefined);
  return new Promise((resolve) => {
    const stop = (graceful: boolean) => (): void => void master.stop({ graceful }).then(resolve);
    on('SIGQUIT', 'shutting down', stop(true));
    for (const signal of ['SIGTERM', 'SIGINT'] as const) on(signal, 'exiting', stop(false));
    if (process.env['GW_SUPERVISOR'] !== undefined) process.on('disconnect', stop(true));
  });
}
