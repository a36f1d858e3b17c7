import { readFileSync } from 'node:fs';

/** How many files the process may have open, sockets among them; Node has raised the soft limit to the hard one. */
export function descriptorLimit(): number {
  return Number(softLimit()) || Infinity;
}

function softLimit(): unknown {
  try {
    return /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  } catch {
    // Where there is no /proc the report knows it, ten times as slowly.
    const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
    return report.userLimits?.open_files?.soft;
  }
}
