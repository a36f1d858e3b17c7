import type { CoreConfig } from '../contract/index.ts';
import type { ErrorLog } from '../log/index.ts';

/** Applies `env`: this process, its threads and the programs it starts see the variables. To be done before any of them starts. */
export function setEnvironment({ environment = [] }: CoreConfig): void {
  for (const { name, value } of environment) if (value !== undefined) process.env[name] = value;
}

/** Workers are threads: they cannot be somebody else than their process. An operator who asked for it has to know. */
export function tellUser({ user }: CoreConfig, log: ErrorLog): void {
  if (user === undefined) return;
  if (process.getuid?.() !== 0) {
    // nginx's words.
    log.write(
      'warn',
      'the "user" directive makes sense only if the master process runs with super-user privileges, ignored',
    );
  } else if (user !== 'root') {
    log.write('warn', `"user" is not applied: gw runs as root; start it as "${user}" instead`);
  }
}
