import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';

/**
 * Names this process for `ps` (`gw: master process`), and for programs that find it by the name of its command: service
 * scripts and log rotation send signals to a process that is called `gw`, not `node`.
 */
export function nameProcess(role: string, command = 'gw'): void {
  process.title = `${command}: ${role} process`;
  try {
    writeFileSync('/proc/self/comm', command);
  } catch {
    // No Linux, or not allowed: the title is what it is.
  }
}

/** How the program was called: a link to it may have another name. */
export function commandName(path: string): string {
  return basename(path, '.js');
}
