import { spawnSync } from 'node:child_process';
import { openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { helperEnvironment } from './processes.ts';

/** Returns the limit of open files of the process, sockets included. Node has raised the soft limit to the hard one. */
export function openFilesLimit(): number {
  return Number(softLimit()) || Infinity;
}

function softLimit(): unknown {
  try {
    return /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  } catch {
    // Without /proc, the diagnostic report has the limit; it is ten times as slow.
    const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
    return report.userLimits?.open_files?.soft;
  }
}

const OPEN_FILES = '/proc/self/fd';
/** How long a count that had to be made by listing holds: it takes 3 ms for 10,000 files. */
const COUNT_HOLDS_MS = 5_000;
let listed: { readonly count: number; readonly atMs: number } | undefined;

/** Returns the number of open files of the process, sockets included; `undefined` without /proc. */
export function countOpenFiles(): number | undefined {
  try {
    // Since Linux 6.2 the size of the directory is their number.
    const { size } = statSync(OPEN_FILES);
    if (size > 0) return size;
    const atMs = performance.now();
    if (!listed || atMs - listed.atMs > COUNT_HOLDS_MS)
      listed = { count: readdirSync(OPEN_FILES).length - 1, atMs };
    return listed.count;
  } catch {
    return undefined;
  }
}

/** Bytes of the line of a thread: three numbers. */
const SCHEDSTAT_BYTES = 80;

/**
 * Opens the CPU time of the calling thread; returns the function that reads it, in seconds, with one system call.
 * `undefined` where the kernel does not tell, also later. The file is closed with the thread.
 */
export function openThreadClock(): (() => number | undefined) | undefined {
  const line = Buffer.allocUnsafeSlow(SCHEDSTAT_BYTES);
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r');
    return () => readNanoseconds(file, line);
  } catch {
    return undefined;
  }
}

/** Reads the time that a thread ran (proc(5), "schedstat"); returns it in seconds. */
function readNanoseconds(file: number, line: Buffer): number | undefined {
  try {
    const length = readSync(file, line, 0, line.length, 0);
    const seconds = Number.parseInt(line.toString('latin1', 0, length), 10) / 1e9;
    return Number.isNaN(seconds) ? undefined : seconds;
  } catch {
    return undefined;
  }
}

/** Raises the limit of open files of this process if the system allows it. Node.js has no call for it (setrlimit(2)). */
export function raiseOpenFilesLimit(files: number): void {
  if (openFilesLimit() >= files || process.getuid?.() !== 0) return;
  spawnSync('prlimit', [`--pid=${process.pid}`, `--nofile=${files}:${files}`], {
    env: helperEnvironment(),
    stdio: 'ignore',
  });
}
