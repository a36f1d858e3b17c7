import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
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

/** Raises the limit of open files of this process if the system allows it. Node.js has no call for it (setrlimit(2)). */
export function raiseOpenFilesLimit(files: number): void {
  if (openFilesLimit() >= files || process.getuid?.() !== 0) return;
  spawnSync('prlimit', [`--pid=${process.pid}`, `--nofile=${files}:${files}`], {
    env: helperEnvironment(),
    stdio: 'ignore',
  });
}
