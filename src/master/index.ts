import type { CoreConfig, ListenAddress } from '../contract/index.ts';
import type { ConfigSource } from '../pipeline.ts';
import type { MasterEvents } from './main.ts';
import type { SuperviseOptions } from './supervisor.ts';

export { readPidFile } from './process-files.ts';

/** Runs the gateway in this process until a signal ends it. Gives the exit code. */
export async function runMaster(source: ConfigSource, events: MasterEvents = {}): Promise<number> {
  const main = await import('./main.ts');
  return main.runMaster(source, events);
}

/** Runs the gateway in a child process that is started again when it dies; this process loads nothing of it. */
export async function supervise(args: readonly string[], options: SuperviseOptions = {}): Promise<number> {
  const supervisor = await import('./supervisor.ts');
  return supervisor.supervise(args, options);
}

/** Fails when an address cannot be bound. */
export async function probePort(address: ListenAddress): Promise<void> {
  const probe = await import('./probe-port.ts');
  return probe.probePort(address);
}

/** Why nobody could serve this configuration, where this process would have to give up root before. */
export async function accountFault(core: CoreConfig): Promise<string | undefined> {
  const { servingAccount } = await import('./rights/index.ts');
  try {
    servingAccount(core);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
