import { openLoggerChannel } from './logger-channel.ts';
import type { SyslogTarget } from './syslog-target.ts';
import { openUdpChannel } from './udp-channel.ts';

/** Where messages go as they were made. */
export interface Syslog {
  /** `severity` instead of the target's own. */
  write(message: string, severity?: number): void;
  close(): Promise<void>;
}

/** Sends lines to a syslog server (RFC 3164). `tell` hears what is wrong with it; once until it changes. */
export function openSyslog(target: SyslogTarget, tell: (trouble: string) => void): Syslog {
  const { server, facility, severity: usual } = target;
  let last = '';
  const tellOnce = (trouble: string): void => {
    if (trouble !== last && trouble !== '') tell(trouble);
    last = trouble;
  };
  const channel =
    server.kind === 'udp'
      ? openUdpChannel(server, target, tellOnce)
      : openLoggerChannel(server.path, target, tellOnce);
  return {
    write: (message, severity = usual) => channel.send(facility * 8 + severity, message),
    close: () => channel.close(),
  };
}
