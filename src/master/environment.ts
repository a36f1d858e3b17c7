import type { CoreConfig } from '../contract/index.ts';
import type { ErrorLog } from '../log/index.ts';

/** Applies `env`: this process, its threads and the programs it starts see the variables. To be done before any of them starts. */
export function setEnvironment({ environment = [] }: CoreConfig): void {
  for (const { name, value } of environment) if (value !== undefined) process.env[name] = value;
}

/** Warns where `user` has no effect: only root can become another account. */
export function tellUser({ user }: CoreConfig, log: ErrorLog): void {
  if (user === undefined || process.getuid?.() === 0) return;
  // nginx's words.
  log.write(
    'warn',
    'the "user" directive makes sense only if the master process runs with super-user privileges, ignored',
  );
}
