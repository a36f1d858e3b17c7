import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Outcome,
  pidFileOf,
  readGatewayPid,
  readStatus,
  readTrustedPid,
  type RunningStatus,
} from '../src/master/index.ts';
import { type ConfigSource, load } from '../src/pipeline.ts';
import { isAlive, systemReason } from '../src/system/index.ts';
import { VERSION } from '../src/version.ts';
import { readRegularFile } from './regular-file.ts';
import { visible } from './terminal.ts';

/** The signals of what can be asked for. */
const SIGNALS = { reload: 'SIGHUP', upgrade: 'SIGUSR2' } as const;
const POLL_MS = 25;
/** Time for the status file, which is replaced now and then, to be there. */
const STATUS_MS = 1_000;
/** A start may wait for a CPU; a reload may read large files. */
const OUTCOME_MS = 120_000;

/** Sends a signal to a process. Throws in nginx's words if that fails. */
export function sendTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (cause) {
    throw new Error(`kill(${pid}, ${signal}) failed (${systemReason(cause)})`, { cause });
  }
}

/** What the running gateway tells; throws if it tells nothing. */
export async function statusOf(pidFile: string): Promise<RunningStatus> {
  readTrustedPid(pidFile);
  for (let waitedMs = 0; waitedMs < STATUS_MS; waitedMs += POLL_MS) {
    const status = readStatus(pidFile);
    if (status) return status;
    await sleep(POLL_MS);
  }
  throw new Error(`the running gateway does not tell how it went: "${pidFile}.status" is not there`);
}

/**
 * Returns a line about what runs by a configuration, if its version or that of its supervisor is another one than this
 * program's; else, or if that is not known, ''.
 */
export function otherVersions(source: ConfigSource): string {
  const status = statusBy(source);
  if (!status) return '';
  const { version, supervisor = version } = status;
  if (version === VERSION && supervisor === VERSION) return '';
  return `running: gw/${visible(version)}${supervisorText(status, ', ')}\n`;
}

/** Returns a text about a supervisor of another version than the program that serves, after `separator`; else ''. */
export function supervisorText({ version, supervisor = version }: RunningStatus, separator: string): string {
  if (supervisor === version) return '';
  return `${separator}its supervisor is gw/${visible(supervisor)} until the next start`;
}

/** Returns what the gateway of a configuration tells. The configuration may have any fault, and its files may be pipes. */
function statusBy(source: ConfigSource): RunningStatus | undefined {
  const readFile = (path: string, mostBytes: number): Buffer => readRegularFile(path, { mostBytes });
  try {
    const { plan } = load({ ...source, readFile }, { only: ['pid'] });
    return plan && readStatus(pidFileOf(plan));
  } catch {
    return undefined;
  }
}

/** Asks the running gateway for a reload or an upgrade; resolves to how it went. Throws if it cannot be asked. */
export async function askFor(kind: Outcome['kind'], pidFile: string): Promise<Outcome> {
  const pid = readGatewayPid(pidFile);
  await statusOf(pidFile);
  // An earlier reload that has not ended may not have read the files as they are now.
  const sent = process.hrtime.bigint();
  sendTo(pid, SIGNALS[kind]);
  for (let waitedMs = 0; waitedMs < OUTCOME_MS; waitedMs += POLL_MS) {
    const outcome = readStatus(pidFile)?.[kind];
    if (outcome && BigInt(outcome.began) >= sent) return outcome;
    if (!isAlive(pid)) throw new Error('the gateway has ended meanwhile');
    await sleep(POLL_MS);
  }
  throw new Error(`the gateway did not tell within ${OUTCOME_MS / 1_000} s how the ${kind} went`);
}

/** Prints how it went; returns the exit code. */
export function tellOutcome({ kind, isDone, text }: Outcome, more = ''): number {
  const failed = kind === 'upgrade' ? 'upgrade failed, the running program goes on: ' : '';
  if (isDone) process.stdout.write(`${visible(text)}${more}\n`);
  else process.stderr.write(`gw: [error] ${failed}${visible(text)}\n`);
  return isDone ? 0 : 1;
}
