import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
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

/** Returns the CPU time of the calling thread in seconds; `undefined` where the kernel does not tell. */
export function threadCpuSeconds(): number | undefined {
  try {
    // The time that the thread ran, in nanoseconds (proc(5), "schedstat").
    const nanoseconds = Number.parseInt(readFileSync('/proc/thread-self/schedstat', 'latin1'), 10);
    return Number.isNaN(nanoseconds) ? undefined : nanoseconds / 1e9;
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
