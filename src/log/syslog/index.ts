import { LoggerChannel } from './logger-channel.ts';
import type { ChannelReports, SyslogTarget } from './target.ts';
import { UdpChannel } from './udp-channel.ts';

export { missingHost, parseSyslog, type SyslogTarget } from './target.ts';

/** A connection to a syslog server. It never fails: messages that cannot be sent are dropped. */
interface SyslogChannel {
  /** Sends a message; `priority` combines facility and severity (RFC 3164, 4.1.1). */
  send(priority: number, message: string): void;
  /** Resolves when all messages have been sent. */
  close(): Promise<void>;
}

/** A syslog destination. */
interface Syslog {
  /** Sends a message; `severity` overrides that of the target. */
  write(message: string, severity?: number): void;
  close(): Promise<void>;
}

/**
 * A problem is reported once in this time, even if a datagram is sent in between: the system reports the refusal of a
 * datagram at the next one, so every other datagram to a closed port seems to be sent.
 */
const REPORT_INTERVAL_MS = 60_000;

/** `tell` receives each new problem, and once a minute while it lasts. */
type SyslogReports = Pick<ChannelReports, 'tell'> & Partial<ChannelReports>;

/** Opens a syslog destination (RFC 3164). */
export function openSyslog(target: SyslogTarget, { tell, dropped = () => undefined }: SyslogReports): Syslog {
  const { server, facility, severity: usual } = target;
  let last = { trouble: '', atMs: 0 };
  const report = (trouble: string): void => {
    const atMs = performance.now();
    if (trouble === last.trouble && atMs - last.atMs < REPORT_INTERVAL_MS) return;
    last = { trouble, atMs };
    tell(trouble);
  };
  const channel: SyslogChannel =
    server.kind === 'udp'
      ? new UdpChannel(server, target, { tell: report, dropped })
      : new LoggerChannel(server.path, target, { tell: report, dropped });
  return {
    write: (message, severity = usual) => channel.send(facility * 8 + severity, message),
    close: () => channel.close(),
  };
}
