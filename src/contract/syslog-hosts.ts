import { missingHost, type SyslogTarget } from '../log/index.ts';
import type { LiveScope } from './module.ts';

/** Looks up the syslog servers of a list of logs. `gw check --live` reports those without an address. */
export async function missingSyslogHosts(
  logs: readonly (SyslogTarget | undefined)[],
  live: LiveScope,
): Promise<readonly { readonly rule: string; readonly index: number; readonly message: string }[]> {
  const faults = await Promise.all(
    logs.map(async (log) => {
      if (log?.server.kind !== 'udp') return undefined;
      return live.once(`syslog ${log.server.host}`, () => missingHost(log, live.timeoutMs));
    }),
  );
  return faults.flatMap((message, index) =>
    message === undefined ? [] : { rule: 'syslog-host', index, message },
  );
}
