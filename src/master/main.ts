import { once } from 'node:events';
import type { CoreConfig, LoadFault } from '../contract/index.ts';
import { type ErrorLog, LogOpener } from '../log/index.ts';
import type { ConfigSource } from '../pipeline.ts';
import type { Account } from '../system/index.ts';
import { ThreadLog } from '../worker/index.ts';
import { type AcceptedCandidate, type Candidate, loadCandidate, pack, unpack } from './candidate.ts';
import { Master } from './master.ts';
import { KeeperChannel, KeptPrivileges, ownPrivileges } from './privileges/index.ts';
import { commandName, nameProcess } from './process-files.ts';
import { servingAccount } from './rights/index.ts';
import type { LastCandidate, ToSupervisor } from './supervisor.ts';

/** Applies `env` to this process, its threads and its programs. Call it before any of them starts. */
function setEnvironment({ environment = [] }: CoreConfig): void {
  for (const { name, value } of environment) if (value !== undefined) process.env[name] = value;
}

/** Warns if `user` has no effect: only root can become another account. */
function tellUser({ user }: CoreConfig, log: ErrorLog): void {
  if (user === undefined || process.getuid?.() === 0) return;
  // The message of nginx.
  log.write(
    'warn',
    'the "user" directive makes sense only if the master process runs with super-user privileges, ignored',
  );
}

const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGUSR1: 10, SIGUSR2: 12, SIGTERM: 15, SIGWINCH: 28 };

/** Signals by which nginx replaces its program while it runs. */
const OF_AN_UPGRADE = {
  SIGUSR2: 'gw does not start a new program beside itself: restart it',
  SIGWINCH: 'gw does not stop its workers alone: use SIGQUIT',
} as const;

/** Handles nginx's signals; resolves when one of them has ended the gateway. */
function untilStopped(master: Master, log: ErrorLog): Promise<void> {
  const on = (signal: keyof typeof NUMBERS, does: string, act: () => void): void => {
    process.on(signal, () => {
      log.write('notice', `signal ${NUMBERS[signal]} (${signal}) received, ${does}`);
      act();
    });
  };
  on('SIGHUP', 'reconfiguring', () => master.reload());
  on('SIGUSR1', 'reopening logs', () => master.reopen());
  on('SIGUSR2', OF_AN_UPGRADE.SIGUSR2, () => undefined);
  // A terminal sends this signal when its window changes. As in nginx, it is handled in the background only.
  if (process.env['GW_DAEMON'] !== undefined) on('SIGWINCH', OF_AN_UPGRADE.SIGWINCH, () => undefined);
  return new Promise((resolve) => {
    const stop = (graceful: boolean) => (): void => void master.stop({ graceful }).then(resolve);
    on('SIGQUIT', 'shutting down', stop(true));
    for (const signal of ['SIGTERM', 'SIGINT'] as const) on(signal, 'exiting', stop(false));
    if (process.env['GW_SUPERVISOR'] !== undefined) process.on('disconnect', stop(true));
  });
}

const ALIVE_MS = 1_000;

/** Events of the master for its caller. */
export interface MasterEvents {
  /** All workers listen. */
  readonly onReady?: (() => void) | undefined;
}

/** Runs the gateway in this process until a signal ends it. Resolves to the exit code. */
export async function runMaster(source: ConfigSource, { onReady }: MasterEvents = {}): Promise<number> {
  nameProcess('master', process.env['GW_COMMAND'] ?? commandName(process.argv[1] ?? ''));
  // Standard error may be a pipe whose reader has ended.
  process.stderr.on('error', () => undefined);
  const running = await begin(source, { onReady });
  if (!running) return 1;
  await running.stopped;
  running.log.close();
  return 0;
}

/** Loads and serves the configuration; `undefined` on failure. `stopped` resolves when a signal has ended it. */
async function begin(
  source: ConfigSource,
  { onReady }: MasterEvents,
): Promise<{ readonly log: ThreadLog; readonly stopped: Promise<void> } | undefined> {
  const candidate = await firstCandidate(source);
  const { plan } = candidate;
  if (!plan) return undefined;
  const { core, prefix } = plan.main;
  setEnvironment(core);
  const account = accountFor(core);
  const opener = new LogOpener(typeof account === 'object' ? account.uid : undefined);
  const log = new ThreadLog(core.errorLogs, { prefix, tid: 0, opener });
  if (typeof account === 'string') {
    refuse(account, log);
    return undefined;
  }
  const accepted = { ...candidate, plan };
  const master = new Master(accepted, {
    privileges: account
      ? new KeptPrivileges({ account, keeper: new KeeperChannel(JSON.stringify(source)), log, opener })
      : ownPrivileges({
          source,
          pid: Number(process.env['GW_SUPERVISOR']) || process.pid,
          // Packing a candidate takes as long as loading it.
          keep: (served) => hasSupervisor() && tellSupervisor({ type: 'keep', candidate: pack(served) }),
        }),
    account,
    log,
    show: (faults) => logFaults(faults, log),
    onReady: () => onReady?.(),
  });
  surviveFaults(log);
  tellLastEnd(log, candidate);
  tellUser(core, log);
  const skips = source.compat === 'skip' || core.compat === 'skip';
  if (skips && !log.writesTo('stderr')) logFaults(candidate.faults, log);
  const stopped = untilStopped(master, log);
  return (await starts(master, accepted, log)) ? { log, stopped } : undefined;
}

/** Returns the first configuration. After a crash it is the one that served before, if the files no longer load. */
async function firstCandidate(source: ConfigSource): Promise<Candidate & { readonly isOld?: boolean }> {
  const candidate = await loadCandidate(source);
  if (candidate.plan || process.env['GW_LAST_END'] === undefined) return candidate;
  tellSupervisor({ type: 'last' });
  const [{ candidate: last }] = (await once(process, 'message')) as [LastCandidate];
  return last === undefined ? candidate : { ...unpack(last), isOld: true };
}

/** Returns the account to become, or the reason why it is not available. */
function accountFor(core: CoreConfig): Account | string | undefined {
  try {
    return servingAccount(core);
  } catch (error) {
    return (error as Error).message;
  }
}

function refuse(reason: string, log: ThreadLog): void {
  log.write('emerg', reason);
  if (!log.writesTo('stderr')) process.stderr.write(`gw: [emerg] ${reason}\n`);
}

async function starts(master: Master, candidate: AcceptedCandidate, log: ThreadLog): Promise<boolean> {
  try {
    await master.start(candidate);
    return true;
  } catch (error) {
    refuse((error as Error).message, log);
    await master.stop({ graceful: false });
    return false;
  }
}

/**
 * Writes the faults of a reload to the log, one line each, because a reload has no terminal. Warnings of the first load
 * are printed on the terminal, and logged only if they say what gw does not serve.
 */
function logFaults(faults: readonly LoadFault[], log: ThreadLog): void {
  for (const { severity, message, place } of faults) {
    // A refused reload is not an emergency, because the old configuration serves.
    const level = severity === 'emerg' ? 'error' : severity;
    log.write(level, place ? `${message} in ${place.file}:${place.line}:${place.column}` : message);
  }
}

/** Keeps the process alive after a fault in this thread, which serves no requests. */
function surviveFaults(log: ThreadLog): void {
  process.on('uncaughtException', (error) => {
    log.write('alert', `master: ${String((error as Error).stack ?? error).replaceAll('\n', ' ')}`);
  });
}

/** Logs how the previous master ended, because the supervisor writes no log. */
function tellLastEnd(log: ThreadLog, { isOld = false }: { readonly isOld?: boolean }): void {
  const lastEnd = process.env['GW_LAST_END'];
  if (lastEnd === undefined) return;
  log.write('alert', `the master process ended unexpectedly (${lastEnd}); shared zones were lost`);
  if (isOld) log.write('error', 'the configuration has errors, the one that served before goes on');
}

/** Reports to the supervisor that the gateway serves, and sends heartbeats from then on. */
function reportToSupervisor(): void {
  tellSupervisor({ type: 'ready' });
  setInterval(() => tellSupervisor({ type: 'alive' }), ALIVE_MS).unref();
}

function hasSupervisor(): boolean {
  return process.env['GW_SUPERVISOR'] !== undefined && process.connected;
}

function tellSupervisor(message: ToSupervisor): void {
  if (!hasSupervisor()) return;
  // The channel may close at any time.
  process.send?.(message, undefined, undefined, () => undefined);
}

/** The program of the supervisor's child process: its argument is the source of the configuration as JSON. */
if (process.env['GW_SUPERVISOR'] !== undefined && process.argv[2] !== undefined) {
  void runMaster(JSON.parse(process.argv[2]) as ConfigSource, { onReady: reportToSupervisor }).then(
    (code) => {
      // All workers have ended; resources that a module has left open must not keep the process alive.
      process.exit(code);
    },
  );
}
