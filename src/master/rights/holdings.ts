import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { ListenAddress, WrittenFiles } from '../../contract/index.ts';
import { type HeldLog, identityOf, standardStream } from '../../log/index.ts';
import { addressText, type GatewayPlan, type PortPlan } from '../../plan/index.ts';
import {
  type Account,
  appendAsRoot,
  give,
  makeDirectorySync,
  openToAppend,
  rootPath,
} from '../../system/index.ts';
import type { Holdings, OpenedLogs } from './protocol.ts';

/** Returns the holdings of a configuration that an account serves. */
export function holdingsOf({ main, ports }: GatewayPlan, account: Account): Holdings {
  return {
    account,
    addresses: portsOfRoot(ports).map(({ address }) => ({ key: addressText(address), address })),
    written: main.written,
    pidFile: resolve(main.prefix, main.core.pidFile),
    shutdownTimeoutMs: main.core.shutdownTimeoutMs,
  };
}

/** Returns the ports that only root can bind: low ports, and Unix sockets, which are usually in directories of root. */
export function portsOfRoot(ports: readonly PortPlan[]): readonly PortPlan[] {
  const first = firstFreePort();
  return ports.filter(({ address }) => needsRoot(address, first));
}

function needsRoot(address: ListenAddress, firstFree: number): boolean {
  return address.kind === 'unix' || address.port < firstFree;
}

/** Returns the lowest port that every account may bind: 1024, unless Linux is configured otherwise. */
function firstFreePort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
  } catch {
    return 1024;
  }
}

const { O_NOFOLLOW, O_RDONLY } = constants;
const OTHERS_WRITE = 0o022;

/**
 * Opens logs as root, creates missing ones and makes the account their owner, as nginx does for its workers. The caller
 * closes the descriptors. Logs that root may not give away are left out: the account may be able to open them itself.
 */
export function openLogs(files: readonly string[], account: Account): OpenedLogs {
  const held: Record<string, HeldLog> = {};
  const faults: Record<string, string> = {};
  for (const path of files) {
    if (standardStream(path) !== undefined) continue;
    try {
      const fd = appendAsRoot(path, account.uid);
      if (fstatSync(fd).uid === account.uid) held[path] = { fd, identity: identityOf(fd) };
      else closeSync(fd);
    } catch (error) {
      faults[path] = (error as Error).message;
    }
  }
  return { held, faults };
}

/**
 * Gives data directories to the serving account and creates missing ones. Must run as root. It changes only paths that
 * no other account can have created, in all of their directories: any other name may have become a link by the time it
 * is opened, and the account's own directories need no change. Failures are ignored; opening the path reports them.
 */
export function handOver(
  { directories, sharedDirectories }: Pick<Required<WrittenFiles>, 'directories' | 'sharedDirectories'>,
  account: Account,
): void {
  for (const directory of directories) attempt(() => handOverDirectory(directory, account));
  for (const directory of sharedDirectories) {
    if (!existsSync(directory)) attempt(() => handOverDirectory(directory, account));
  }
}

/**
 * Hands over a directory and its files, which a gateway that served as root may have created. The account must be able
 * to pass through missing parent directories, but owns only the last directory.
 */
function handOverDirectory(path: string, account: Account): void {
  const directory = rootPath(path);
  if (directory === undefined) return;
  makeDirectorySync(dirname(directory), 0o711);
  makeDirectorySync(directory, 0o700);
  if ((statSync(directory).mode & OTHERS_WRITE) !== 0) return;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isFile()) attempt(() => handOverFile(join(directory, entry.name), account));
  }
  giveAndClose(openSync(directory, O_RDONLY | O_NOFOLLOW), account);
}

function handOverFile(path: string, account: Account): void {
  if (rootPath(path) !== undefined) giveAndClose(openToAppend(path, O_NOFOLLOW), account);
}

function giveAndClose(descriptor: number, { uid }: Account): void {
  try {
    give(descriptor, uid);
  } finally {
    closeSync(descriptor);
  }
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // The thread that opens the file reports the reason.
  }
}
