import { readdirSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { SocketAddress } from './listening-sockets.ts';

/** The time between two looks, and the part of the time that looks may take: one takes 90 ms with 60,000 connections. */
const PAUSE_MS = 100;
const BUSY_PART = 0.1;

/**
 * Finds connections with bytes that this process has still to pass to the kernel, which has no room for them. Engines do
 * not tell what they keep of responses that they have taken, but their event loops wait for room in those sockets
 * (EPOLLOUT), and Linux shows what event loops wait for (proc_pid_fdinfo(5)).
 */
export class UnsentBytes {
  /**
   * The loop of this thread, and those of threads that were started before it: nothing tells which is its own, so it may
   * wait for their clients as well. None where the system does not tell.
   */
  readonly #loops = eventLoops();

  /**
   * Returns a function that tells whether clients of these addresses have still to be sent something, with a pause
   * before it looks again. `hurry` ends the pause. It resolves to `false` if the system does not tell: Linux before
   * 5.14 does not if the process was started by root.
   */
  at(addresses: readonly SocketAddress[], hurry: AbortSignal): () => Promise<boolean> {
    const known = new Map<number, boolean>();
    let notBeforeMs = 0;
    return async () => {
      if (addresses.length === 0) return false;
      await delay(Math.max(0, notBeforeMs - performance.now()), undefined, { signal: hurry }).catch(
        () => undefined,
      );
      // A loop begins to wait for room in its next turn.
      await nextTurn();
      await nextTurn();
      const startMs = performance.now();
      const waiting = await this.#waiting();
      if (waiting.some((inode) => !known.has(inode))) {
        const clients = await clientsOf(addresses);
        for (const inode of waiting) known.set(inode, clients.has(inode));
      }
      const tookMs = performance.now() - startMs;
      notBeforeMs = startMs + Math.max(PAUSE_MS, tookMs / BUSY_PART);
      return waiting.some((inode) => known.get(inode));
    };
  }

  /** Returns the inodes of the sockets in which loops wait for room. */
  async #waiting(): Promise<readonly number[]> {
    const waiting: number[] = [];
    for (const loop of this.#loops)
      for (const [, inode = ''] of (await textOf(loop)).matchAll(WAITS))
        waiting.push(Number.parseInt(inode, 16));
    return waiting;
  }
}

/** A file for which a loop waits until it can be written to (EPOLLOUT is 4), and its inode. */
const WAITS = /^tfd: +\d+ events: +[\da-f]*[4-7c-f] data: +[\da-f]+ +pos:\d+ ino:([\da-f]+)/gm;
/** An open connection (ESTABLISHED, CLOSE_WAIT): its local port and its inode. */
const CONNECTION = /^ *\d+: [\dA-F]+:([\dA-F]{4}) \S+ 0[18] \S+ \S+ \S+ +\d+ +\d+ (\d+) /gm;
/** A connected Unix socket with a path. A client's has none. */
const UNIX_CONNECTION = /^[\da-f]+: [\dA-F]+ [\dA-F]+ [\dA-F]+ 0001 03 +(\d+) ./gm;

/** Returns the inodes of the connections of clients. */
async function clientsOf(addresses: readonly SocketAddress[]): Promise<ReadonlySet<number>> {
  const ports = new Set(addresses.map((address) => (address.kind === 'inet' ? address.port : 0)));
  const clients = new Set<number>();
  for (const table of ['tcp', 'tcp6'])
    for (const [, port = '', inode] of (await textOf(`net/${table}`)).matchAll(CONNECTION))
      if (ports.has(Number.parseInt(port, 16))) clients.add(Number(inode));
  if (ports.has(0))
    for (const [, inode] of (await textOf('net/unix')).matchAll(UNIX_CONNECTION)) clients.add(Number(inode));
  return clients;
}

/** Returns the files of this process about its event loops. */
function eventLoops(): readonly string[] {
  try {
    const files = readdirSync('/proc/self/fd');
    return files
      .filter((file) => targetOf(file) === 'anon_inode:[eventpoll]')
      .map((file) => `fdinfo/${file}`);
  } catch {
    return [];
  }
}

function targetOf(file: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    // Another thread has closed it.
    return '';
  }
}

function textOf(file: string): Promise<string> {
  return readFile(`/proc/self/${file}`, 'latin1').catch(() => '');
}
