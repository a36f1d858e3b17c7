import { once } from 'node:events';
import type { CoreConfig, LoadFault } from '../contract/index.ts';
import { type ErrorLog, LogOpener, tellOperator } from '../log/index.ts';
import type { ConfigSource } from '../pipeline.ts';
import { type Account, findAccount, openFilesLimit, raiseOpenFilesLimit } from '../system/index.ts';
import { ThreadLog } from '../worker/index.ts';
import { type AcceptedCandidate, type Candidate, loadCandidate, pack, unpack } from './candidate.ts';
import { Master } from './master.ts';
import { KeeperChannel, KeptPrivileges, ownPrivileges, type Privileges } from './privileges/index.ts';
import { commandName, nameProcess } from './process-name.ts';
import { VERSION } from '../version.ts';
import { logFaults as missingLogs, servingAccount, writeFaults } from './rights/index.ts';
import { failureCode, type ToMaster } from './protocol.ts';
import {
  hasSupervisor,
  obeySupervisor,
  supervisorFault,
  Telling,
  tellRefusal,
  tellSupervisor,
} from './supervisor-channel.ts';
import { Inheritance, isUpgrade } from './upgrade/inheritance.ts';

/** Applies `env` to this process, its threads and its programs. Call it before any of them starts. */
function setEnvironment({ environment = [] }: CoreConfig): void {
  for (const { name, value } of environment) if (value !== undefined) process.env[name] = value;
}

/** Warns if `user` has no effect: only root can become another account. */
function tellUser({ user }: CoreConfig, log: ErrorLog): void {
  if (user === undefined || process.getuid?.() === 0) return;
  // The service has become the account already, which a start by root has to become.
  if (findAccount(user.name)?.uid === process.getuid?.()) return;
  // The message of nginx.
  log.write(
    'warn',
    'the "user" directive makes sense only if the master process runs with super-user privileges, ignored',
  );
}

/** Carries out `worker_rlimit_nofile` while the process is root, and warns if the limit stays below it. */
function setOpenFiles({ openFiles = 0 }: CoreConfig, log: ThreadLog): void {
  raiseOpenFilesLimit(openFiles);
  const limit = openFilesLimit();
  if (limit >= openFiles) return;
  const text = `"worker_rlimit_nofile ${openFiles}" has no effect: the process may open ${limit} files; set its limit with LimitNOFILE= of systemd, or ulimit -n`;
  log.write('warn', text);
  if (!log.takes('warn')) tellOperator(text, 'warn');
}

/** Carries out, or warns of, what the configuration asks of the process. */
function obeyCore(core: CoreConfig, log: ThreadLog): void {
  tellUser(core, log);
  setOpenFiles(core, log);
}

const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGUSR1: 10, SIGUSR2: 12, SIGTERM: 15, SIGWINCH: 28 };

/** Signals by which nginx replaces its program while it runs. */
const OF_AN_UPGRADE = {
  SIGUSR2: 'only a supervisor starts a new program beside this one: restart it',
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
  on('SIGUSR2', OF_AN_UPGRADE.SIGUSR2, () => master.refuseUpgrade(OF_AN_UPGRADE.SIGUSR2));
  // A terminal sends this signal when its window changes. As in nginx, it is handled in the background only.
  if (process.env['GW_DAEMON'] !== undefined) on('SIGWINCH', OF_AN_UPGRADE.SIGWINCH, () => undefined);
  return new Promise((resolve) => {
    const stop = (graceful: boolean) => (): void => void master.stop({ graceful }).then(resolve);
    on('SIGQUIT', 'shutting down', stop(true));
    for (const signal of ['SIGTERM', 'SIGINT'] as const) on(signal, 'exiting', stop(false));
    if (process.env['GW_SUPERVISOR'] !== undefined) process.on('disconnect', stop(true));
    obeySupervisor(master, log, resolve);
  });
}

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
  const fault = supervisorFault();
  if (fault !== undefined) await tellRefusal(fault);
  const running = fault === undefined ? await begin(source, { onReady }) : 'refused';
  if (running === 'refused') return 1;
  if (running === 'failed') return failureCode();
  await running.stopped;
  running.log.close();
  return 0;
}

/**
 * Loads and serves the configuration. `stopped` resolves when a signal has ended it. A refused configuration has faults;
 * a start that failed may succeed later.
 */
async function begin(
  source: ConfigSource,
  { onReady }: MasterEvents,
): Promise<{ readonly log: ThreadLog; readonly stopped: Promise<void> } | 'refused' | 'failed'> {
  const candidate = await firstCandidate(source);
  const { plan } = candidate;
  if (!plan) {
    await tellRefusal(`the configuration has errors: ${firstFault(candidate)}`);
    return 'refused';
  }
  const { core, prefix } = plan.main;
  setEnvironment(core);
  const account = accountFor(core);
  const opener = new LogOpener(typeof account === 'object' ? account.uid : undefined);
  const log = new ThreadLog(core.errorLogs, { prefix, tid: 0, opener, opensLater: true });
  if (typeof account === 'string') {
    await refuse([account], log);
    return 'refused';
  }
  if (!account && !(await canWrite(plan, opener, log))) return 'failed';
  const accepted = { ...candidate, plan };
  const telling = new Telling();
  const master = new Master(accepted, {
    privileges: privilegesOf({ source, account, log, opener, inheritance: await Inheritance.ask() }),
    account,
    log,
    show: (faults) => logFaults(faults, log),
    onReady: (pidFile) => {
      telling.serves(pidFile);
      onReady?.();
    },
    onEnd: (outcome, pidFile) => telling.ended(outcome, pidFile),
  });
  surviveFaults(log);
  tellLastEnd(log, candidate);
  obeyCore(core, log);
  if (source.compat === 'skip' || core.compat === 'skip') tellSkipped(candidate, log);
  const stopped = untilStopped(master, log);
  return (await starts(master, accepted, log)) ? { log, stopped } : 'failed';
}

/** Tells in the log what is not served; the terminal has it from the load. */
function tellSkipped({ faults }: Candidate, log: ThreadLog): void {
  if (!log.writesTo('stderr')) logFaults(faults, log);
}

interface PrivilegesNeeds {
  readonly source: ConfigSource;
  readonly account: Account | undefined;
  readonly log: ThreadLog;
  readonly opener: LogOpener;
  readonly inheritance: Inheritance | undefined;
}

function privilegesOf({ source, account, log, opener, inheritance }: PrivilegesNeeds): Privileges {
  if (account) {
    const keeper = new KeeperChannel(JSON.stringify(source));
    return new KeptPrivileges({ account, keeper, log, opener, inheritance });
  }
  return ownPrivileges({
    source,
    pid: Number(process.env['GW_SUPERVISOR']) || process.pid,
    opener,
    inheritance,
    // Packing a candidate takes as long as loading it.
    keep: (served) => {
      if (!hasSupervisor()) return;
      const { shutdownTimeoutMs } = served.plan.main.core;
      tellSupervisor({ type: 'keep', candidate: pack(served), shutdownTimeoutMs });
    },
  });
}

function firstFault({ faults }: Candidate): string {
  const fault = faults.find(({ severity }) => severity === 'emerg');
  return fault === undefined ? 'it is refused' : faultText(fault);
}

function faultText({ message, place }: LoadFault): string {
  return place ? `${message} in ${place.file}:${place.line}:${place.column}` : message;
}

/** Returns the first configuration. After a crash it is the one that served before, if the files no longer load. */
async function firstCandidate(source: ConfigSource): Promise<Candidate & { readonly isOld?: boolean }> {
  const candidate = await loadCandidate(source);
  if (candidate.plan || !isRestart()) return candidate;
  tellSupervisor({ type: 'last' });
  const [{ candidate: last }] = (await once(process, 'message')) as [Extract<ToMaster, { type: 'last' }>];
  return last === undefined ? candidate : { ...unpack(last), isOld: true };
}

/** True after a crash. */
function isRestart(): boolean {
  return process.env['GW_LAST_END'] !== undefined;
}

/** Returns the account to become, or the reason why it is not available. */
function accountFor(core: CoreConfig): Account | string | undefined {
  try {
    return servingAccount(core);
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Tells whether the logs can be opened and states be written, and which cannot. What has served goes on without them after
 * a crash.
 */
async function canWrite(
  { main: { written } }: AcceptedCandidate['plan'],
  opener: LogOpener,
  log: ThreadLog,
): Promise<boolean> {
  if (isRestart()) return true;
  const { files, stateDirectories } = written;
  const faults = [...missingLogs(undefined, { files, opener }), ...writeFaults(undefined, stateDirectories)];
  if (faults.length > 0) await refuse(faults, log);
  return faults.length === 0;
}

/** A new program that does not serve leaves an old one that does: that is not an emergency. */
async function refuse(reasons: readonly string[], log: ThreadLog): Promise<void> {
  const level = isUpgrade() ? 'error' : 'emerg';
  for (const reason of reasons) {
    log.write(level, reason);
    if (!log.writesTo('stderr')) process.stderr.write(`gw: [${level}] ${reason}\n`);
  }
  await tellRefusal(reasons[0] ?? '');
}

async function starts(master: Master, candidate: AcceptedCandidate, log: ThreadLog): Promise<boolean> {
  try {
    await master.start(candidate);
    const before = process.env['GW_UPGRADE_FROM'];
    if (before !== undefined) log.write('notice', `gw/${before} was upgraded to gw/${VERSION}`);
    return true;
  } catch (error) {
    await refuse([(error as Error).message], log);
    await master.stop({ graceful: false });
    return false;
  }
}

/**
 * Writes the faults of a reload to the log, one line each, because a reload has no terminal. Warnings of the first load
 * are printed on the terminal, and logged only if they say what gw does not serve.
 */
function logFaults(faults: readonly LoadFault[], log: ThreadLog): void {
  for (const fault of faults) {
    // A refused reload is not an emergency, because the old configuration serves.
    log.write(fault.severity === 'emerg' ? 'error' : fault.severity, faultText(fault));
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

/** The program of the supervisor's child process: its argument is the source of the configuration as JSON. */
if (process.env['GW_SUPERVISOR'] !== undefined && process.argv[2] !== undefined) {
  void runMaster(JSON.parse(process.argv[2]) as ConfigSource).then((code) => {
    // All workers have ended; resources that a module has left open must not keep the process alive.
    process.exit(code);
  });
}
