import {
  accessSync,
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  openSync,
  readlinkSync,
  statSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { dirname, resolve } from 'node:path';
import { appendAsRoot, openToAppend, systemFailure } from '../system/index.ts';

const DESCRIPTORS: Readonly<Record<string, 1 | 2>> = {
  '/dev/stdout': 1,
  '/dev/fd/1': 1,
  '/proc/self/fd/1': 1,
  stderr: 2,
  '/dev/stderr': 2,
  '/dev/fd/2': 2,
  '/proc/self/fd/2': 2,
};
/** Limit of links, as in Linux. */
const MAX_LINKS = 40;

/**
 * Returns the descriptor of standard output or error if a path means one of them, even through links (containers have
 * `access.log -> /dev/stdout`). A process that gave up root cannot open a file that root's shell opened, but may write
 * to its descriptor.
 */
export function standardStream(path: string): 1 | 2 | undefined {
  let name = path;
  for (let links = 0; links < MAX_LINKS; links += 1) {
    const descriptor = DESCRIPTORS[name];
    if (descriptor !== undefined) return descriptor;
    try {
      name = resolve(dirname(name), readlinkSync(name));
    } catch {
      return undefined;
    }
  }
  return undefined;
}

const { O_APPEND, O_CREAT, O_NOCTTY, O_NONBLOCK, O_WRONLY, W_OK } = constants;

/**
 * Opens standard output or error so that a write never waits for the reader of a pipe or a terminal: it fails instead
 * (EAGAIN). Returns the stream itself if it may not be opened again, as a socket never may: `makePrompt` is for those.
 */
export function openPrompt(stream: 1 | 2): number {
  try {
    if (fstatSync(stream).isFile()) return stream;
    return openSync(`/proc/self/fd/${stream}`, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
  } catch {
    return stream;
  }
}

/** Tells whether writes to a stream that could not be opened again may wait for its reader. */
export function mayWait(stream: number): boolean {
  try {
    const stat = fstatSync(stream);
    return stat.isSocket() || stat.isFIFO();
  } catch {
    return false;
  }
}

/**
 * Makes the next write to standard output or error fail instead of waiting. All processes that have the stream share this,
 * and each new one that inherits the stream ends it, so it is called before each write.
 */
export function makePrompt(stream: number): void {
  try {
    // libuv makes the descriptors that it takes non-blocking, and does not close those of the standard streams.
    new Socket({ fd: stream, readable: false, writable: true }).on('error', () => undefined).destroy();
  } catch {
    // The stream is closed.
  }
}

const STREAMS = [1, 2] as const;

/** Lets the account that takes the place of root open the pipes of the standard streams again. */
export function handOverPipes(uid: number): void {
  for (const stream of STREAMS) {
    try {
      const { uid: owner, gid } = fstatSync(stream);
      // A pipe that has a name may be there for others, too.
      if (owner === 0 && readlinkSync(`/proc/self/fd/${stream}`).startsWith('pipe:'))
        fchownSync(stream, uid, gid);
    } catch {
      // The stream is closed, or /proc is missing.
    }
  }
}

/** A log that root has opened for this process, which keeps it open and owns the file. */
export interface HeldLog {
  readonly fd: number;
  readonly identity: string;
}

/** Held logs by their absolute paths. */
export type HeldLogs = Readonly<Record<string, HeldLog>>;

/**
 * Opens the logs of one thread. After root has given up its rights, the account that serves may not have access to the
 * path of a log: it opens such a log by the descriptor that root has left open.
 */
export class LogOpener {
  readonly #account: number | undefined;
  #held: HeldLogs = {};

  /** `account` becomes the owner of files that this thread opens as root. */
  constructor(account?: number) {
    this.#account = account;
  }

  use(held: HeldLogs): void {
    this.#held = held;
  }

  /** Opens a log for appending; the caller closes the descriptor. Throws if the path cannot be opened. */
  open(path: string): number {
    return this.#openHeld(path) ?? openLogFile(path, this.#account);
  }

  /** Throws if the path cannot be opened. Creates a missing file. */
  check(path: string): void {
    const held = this.#openHeld(path);
    // A pipe is not opened, because its reader would see the end when it is closed.
    if (held === undefined && isPipe(path)) return accessSync(path, W_OK);
    closeSync(held ?? openLogFile(path, this.#account));
  }

  #openHeld(path: string): number | undefined {
    const held = this.#held[path];
    if (!held) return undefined;
    let fd: number;
    try {
      fd = openSync(`/proc/self/fd/${held.fd}`, O_WRONLY | O_APPEND | O_NONBLOCK);
    } catch {
      // /proc is missing, or a later rotation has closed the descriptor.
      return undefined;
    }
    if (identityOf(fd) === held.identity) return fd;
    closeSync(fd);
    return undefined;
  }
}

/** Returns the reason why a log cannot be opened, in nginx's words. */
export function openFailure(path: string, error: unknown): string {
  const { errno, message } = error as NodeJS.ErrnoException;
  return errno === undefined ? message : systemFailure('open', path, error);
}

/** Returns the identity of a file, which does not depend on its name. */
export function identityOf(fd: number): string {
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return `${dev}:${ino}`;
}

function isPipe(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFIFO() === true;
}

/** Opens a log for appending. Root follows no links of others, which could make it open any file. */
function openLogFile(path: string, account: number | undefined): number {
  return process.getuid?.() === 0 ? appendAsRoot(path, account) : openToAppend(path, O_CREAT);
}
