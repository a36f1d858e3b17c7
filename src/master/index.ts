import type { CoreConfig, ListenAddress } from '../contract/index.ts';
import type { ConfigSource } from '../pipeline.ts';
import type { MasterEvents } from './main.ts';
import type { SuperviseOptions } from './supervisor.ts';

export {
  pidFileOf,
  readGatewayPid,
  readStatus,
  readTrustedPid,
  type RunningStatus,
} from './process-files.ts';
export { commandName } from './process-name.ts';
export type { Outcome } from './protocol.ts';

/** Runs the gateway in this process until a signal ends it. Resolves to the exit code. */
export async function runMaster(source: ConfigSource, events: MasterEvents = {}): Promise<number> {
  const main = await import('./main.ts');
  return main.runMaster(source, events);
}

/** Runs the gateway in a child process and restarts it when it dies. This process loads none of the child's code. */
export async function supervise(args: readonly string[], options: SuperviseOptions = {}): Promise<number> {
  const supervisor = await import('./supervisor.ts');
  return supervisor.supervise(args, options);
}

/** Rejects if an address cannot be bound. */
export async function probePort(address: ListenAddress): Promise<void> {
  const probe = await import('./probe-port.ts');
  return probe.probePort(address);
}

/** Returns the reason why the account of `user` cannot serve this configuration, if this process would give up root. */
export async function accountFault(core: CoreConfig): Promise<string | undefined> {
  const { servingAccount } = await import('./rights/index.ts');
  try {
    servingAccount(core);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
