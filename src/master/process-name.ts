import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';

/**
 * Sets the name of this process for `ps` (`gw: master process`), and its command name, so that service scripts and log
 * rotation find a process called `gw` instead of `node`.
 */
export function nameProcess(role: string, command = 'gw'): void {
  process.title = `${command}: ${role} process`;
  try {
    writeFileSync('/proc/self/comm', command);
  } catch {
    // The system is not Linux or does not allow it. The name stays.
  }
}

/** Returns the name under which the program was called, which may be a link. */
export function commandName(path: string): string {
  return basename(path, '.js');
}
