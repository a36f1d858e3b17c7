import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { ListenAddress, WrittenFiles } from '../../contract/index.ts';
import { standardStream } from '../../log/index.ts';
import { addressText, type GatewayPlan, type PortPlan } from '../../plan/index.ts';
import { type Account, rootPath } from '../../system/index.ts';
import type { Holdings } from './protocol.ts';

/** The holdings of a configuration that an account serves. */
export function holdingsOf({ main, ports }: GatewayPlan, account: Account): Holdings {
  return {
    account,
    addresses: portsOfRoot(ports).map(({ address }) => ({ key: addressText(address), address })),
    written: main.written,
    pidFile: resolve(main.prefix, main.core.pidFile),
  };
}

/** The ports that only root can bind: low ports, and Unix sockets, which are usually in directories of root. */
export function portsOfRoot(ports: readonly PortPlan[]): readonly PortPlan[] {
  const first = firstFreePort();
  return ports.filter(({ address }) => needsRoot(address, first));
}

function needsRoot(address: ListenAddress, firstFree: number): boolean {
  return address.kind === 'unix' || address.port < firstFree;
}

/** The lowest port that everybody may bind: 1024, unless Linux is configured otherwise. */
function firstFreePort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
  } catch {
    return 1024;
  }
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const OWNER_READS_AND_WRITES = 0o600;
const OTHERS_WRITE = 0o022;

/**
 * Gives log files and data directories to the serving account and creates missing ones, as nginx does for its workers. To be
 * called by root. A file that cannot be handed over is left as it is: its opening reports why. Only paths are touched that
 * nobody but root can have created, in all of their directories. Any other name may have become a link by the time it is
 * opened, and the account's own directories need no help.
 */
export function handOver(written: Required<WrittenFiles>, account: Account): void {
  const { files, directories, sharedDirectories } = written;
  for (const file of files) attempt(() => handOverFile(file, account, O_CREAT));
  for (const directory of directories) attempt(() => handOverDirectory(directory, account));
  for (const directory of sharedDirectories) {
    if (!existsSync(directory)) attempt(() => handOverDirectory(directory, account));
  }
}

function handOverFile(path: string, account: Account, create: number): void {
  if (standardStream(path) !== undefined) return;
  const file = rootPath(path);
  if (file === undefined) return;
  // O_NONBLOCK: a pipe without a reader must not block the process.
  give(openSync(file, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | create, 0o644), account);
}

/**
 * Hands over a directory and its files, which a gateway that served as root may have created. The account has to pass through
 * missing directories above it, but owns only the last one.
 */
function handOverDirectory(path: string, account: Account): void {
  const directory = rootPath(path);
  if (directory === undefined) return;
  mkdirSync(dirname(directory), { recursive: true, mode: 0o711 });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if ((statSync(directory).mode & OTHERS_WRITE) !== 0) return;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isFile()) attempt(() => handOverFile(join(directory, entry.name), account, 0));
  }
  give(openSync(directory, O_RDONLY | O_NOFOLLOW), account);
}

function give(descriptor: number, { uid }: Account): void {
  try {
    const found = fstatSync(descriptor);
    const isOurs = found.isDirectory() || (found.isFile() && found.nlink === 1);
    if (!isOurs || found.uid === uid) return;
    fchownSync(descriptor, uid, found.gid);
    const mode = found.mode | OWNER_READS_AND_WRITES;
    if (mode !== found.mode) fchmodSync(descriptor, mode);
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
