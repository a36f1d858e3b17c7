import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { resolve } from 'node:path';
import type { ListenAddress } from '../contract/index.ts';
import type { GatewayPlan } from '../plan/index.ts';
import { startedMs } from './own-time.ts';
import { isVersion, type Outcome } from './protocol.ts';
import { openAsRoot, removeAsRoot, rootPath, systemFailure } from '../system/index.ts';

const { O_CREAT, O_EXCL, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants;

/** Maximum size of a pid or status file. */
const MOST_BYTES = 65_536;
/** How much later than its file a process may seem to have started: clocks are read one after the other. */
const CLOCK_MS = 1_000;

/** Returns the absolute path of the pid file. */
export function pidFileOf({ main }: GatewayPlan): string {
  return resolve(main.prefix, main.core.pidFile);
}

/** Writes the pid file, unless it already has this id, as after an upgrade; throws if that fails. */
export function writePidFile(path: string, pid: number): void {
  if (hasPid(path, pid)) return;
  writeAnew(path, `${pid}\n`, 0o644);
}

function hasPid(path: string, pid: number): boolean {
  try {
    const { pid: written, file } = readPid(path);
    return written === pid && isOf(file, pid);
  } catch {
    return false;
  }
}

/**
 * Writes a file; throws if that fails. It is created, never reused: its directory may belong to a user who has linked
 * the name to another file.
 */
function writeAnew(path: string, text: string, mode: number): void {
  const descriptor = openAnew(path, mode);
  try {
    writeSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

function openAnew(path: string, mode: number): number {
  try {
    remove(path);
  } catch {
    // The file cannot be removed, but it may be writable.
    return openToWrite(path, O_TRUNC, mode);
  }
  return openToWrite(path, O_EXCL, mode);
}

function openToWrite(path: string, flag: number, mode: number): number {
  return open(path, O_WRONLY | O_CREAT | flag, mode);
}

/** Opens a file; as root, follows no links of other accounts. Throws in nginx's words. */
function open(path: string, flags: number, mode = 0): number {
  try {
    return (process.getuid?.() === 0 ? openAsRoot : openSync)(path, flags, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).errno === undefined) throw error;
    throw new Error(systemFailure('open', path, error), { cause: error });
  }
}

/** Returns the process id in the pid file. Throws in nginx's words if the file does not exist or has other content. */
export function readPidFile(path: string): number {
  return readPid(path).pid;
}

/**
 * Returns the process id in the pid file, for a command that asks its process. As root, throws if the file belongs to an
 * account that could not send the signal itself.
 */
export function readTrustedPid(path: string): number {
  const { pid, file } = readPid(path);
  const reason = distrustOf(file, pid);
  if (reason !== undefined) throw new Error(`no signal is sent: "${path}" ${reason} process ${pid}`);
  return pid;
}

/**
 * Returns the process id in the pid file of a gateway, for a command that sends a signal. Throws as `readTrustedPid` does,
 * and if another program has this id: the file may be that of nginx, or left of a gateway that was killed.
 */
export function readGatewayPid(path: string): number {
  const pid = readTrustedPid(path);
  const title = readStatus(path) ? undefined : titleOf(pid);
  if (title === undefined || TITLE.test(title)) return pid;
  const named = title === '' ? '' : `: it is "${title}"`;
  throw new Error(`no signal is sent: process ${pid} in "${path}" is not gw's${named}`);
}

/** The name of a supervisor or master; that of nginx's master is followed by the command line. */
const TITLE = /^[^ ]+: (supervisor|master) process$/;

/** Returns what `ps` shows for a process; `undefined` if it does not exist, or the system does not tell. */
function titleOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    if (process.platform === 'linux') return undefined;
    return (
      spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() || undefined
    );
  }
}

/** Both are those of one file, though another may take its place. */
function readPid(path: string): { readonly pid: number; readonly file: ReadFile } {
  const file = readFile(path);
  const word = file.text.trim();
  const pid = Number(word);
  if (!/^[1-9]\d*$/.test(word) || pid < 2) throw new Error(`invalid PID number "${word}" in "${path}"`);
  return { pid, file };
}

/**
 * Returns why root does not believe what a file says of a process; `undefined` if it does, as any other account. Who can
 * change the directory may have put an older file of root's back.
 */
function distrustOf({ owner, writtenMs, isRoots }: ReadFile, pid: number): string | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (owner !== 0)
    return owner === accountOf(pid) ? undefined : 'belongs neither to root nor to the account of';
  return isRoots || isOf({ writtenMs }, pid) ? undefined : 'is older than';
}

/** Tells whether a file is not older than a process. An earlier process may have had the same id, as in a container. */
function isOf({ writtenMs }: Pick<ReadFile, 'writtenMs'>, pid: number): boolean {
  return startedMs(pid) <= writtenMs + CLOCK_MS;
}

/** Returns the effective user id of a process. The owner of its directory in `/proc` is not always that. */
function accountOf(pid: number): number | undefined {
  try {
    const id = /^Uid:\s+\d+\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return id === undefined ? undefined : Number(id);
  } catch {
    return undefined;
  }
}

interface ReadFile {
  readonly text: string;
  readonly owner: number;
  readonly writtenMs: number;
  /** Nobody but root can put another file in its place. */
  readonly isRoots: boolean;
}

/** Reads a file if it is a regular one of usual size: a pipe could block the process. */
function readFile(path: string): ReadFile {
  const isRoot = process.getuid?.() === 0;
  const descriptor = open(path, O_RDONLY | O_NONBLOCK);
  try {
    const found = fstatSync(descriptor);
    const isRead = found.isFile() && found.size <= MOST_BYTES;
    const text = isRead ? readFileSync(descriptor, 'utf8') : '';
    return {
      text,
      owner: found.uid,
      writtenMs: found.mtimeMs,
      isRoots: isRoot && rootPath(path) !== undefined,
    };
  } finally {
    closeSync(descriptor);
  }
}

/** Removes a file. As root, follows no directory link of another account: it could lead to a file of the same name. */
function remove(path: string): void {
  if (process.getuid?.() === 0) removeAsRoot(path);
  else rmSync(path, { force: true });
}

/** Removes the pid file, and the status file beside it, unless another process has written it since. */
export function removePidFile(path: string, pid: number): void {
  try {
    if (readPidFile(path) !== pid) return;
    remove(path);
    remove(statusFileOf(path));
  } catch {
    // The file no longer exists.
  }
}

/** What a running gateway tells commands that may send it signals. */
export interface RunningStatus {
  readonly pid: number;
  /** The version of the program that serves, and of its supervisor, which an upgrade does not replace. */
  readonly version: string;
  readonly supervisor?: string | undefined;
  readonly reload?: Outcome | undefined;
  readonly upgrade?: Outcome | undefined;
}

function statusFileOf(pidFile: string): string {
  return `${pidFile}.status`;
}

/** Writes the status file beside the pid file, for the account that may send signals. Does nothing if that fails. */
export function writeStatus(pidFile: string, status: RunningStatus): void {
  try {
    writeAnew(statusFileOf(pidFile), `${JSON.stringify(status)}\n`, 0o600);
  } catch {
    // The gateway serves without it; commands say that they do not know.
  }
}

/** Reads the status file; `undefined` if it is missing, incomplete or that of another process. */
export function readStatus(pidFile: string): RunningStatus | undefined {
  try {
    const file = readFile(statusFileOf(pidFile));
    const status = JSON.parse(file.text) as RunningStatus;
    const isBelieved = status.pid === readPidFile(pidFile) && distrustOf(file, status.pid) === undefined;
    return isBelieved && isWellFormed(status) ? status : undefined;
  } catch {
    return undefined;
  }
}

/** The file may be that of an attacker. */
function isWellFormed({ version, supervisor, reload, upgrade }: RunningStatus): boolean {
  const isOutcome = (outcome: Outcome | undefined): boolean =>
    outcome === undefined ||
    (/^\d{1,20}$/.test(outcome.began) &&
      typeof outcome.text === 'string' &&
      typeof outcome.isDone === 'boolean' &&
      (outcome.kind === 'reload' || outcome.kind === 'upgrade'));
  const areVersions = isVersion(version) && (supervisor === undefined || isVersion(supervisor));
  return areVersions && isOutcome(reload) && isOutcome(upgrade);
}

/** Removes the files of Unix sockets that this process has listened on, as nginx does. */
export function removeSocketFiles({ ports }: GatewayPlan): void {
  for (const { address } of ports) removeSocketFile(address);
}

/** Removes the file of a Unix socket, which a killed process may have left behind. */
export function removeSocketFile(address: ListenAddress): void {
  if (address.kind !== 'unix') return;
  if (lstatSync(address.path, { throwIfNoEntry: false })?.isSocket()) remove(address.path);
}

/** Tells whether the path is something other than a socket. uWebSockets.js would remove it. */
export function isOtherFile(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false;
  } catch {
    // The bind reports why the path is not accessible.
    return false;
  }
}
