import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The parameters of `syslog:`. */
export interface SyslogTarget {
  readonly server: SyslogServer;
  /** 0 … 23. */
  readonly facility: number;
  /** 0 … 7; the error log uses the level of each line instead. */
  readonly severity: number;
  readonly tag: string;
  /** Whether messages name this machine. */
  readonly sendsHostname: boolean;
}

/** What a channel reports while it sends. */
export interface ChannelReports {
  readonly tell: (trouble: string) => void;
  /** Called for each message that is lost. */
  readonly dropped: () => void;
}

/** A host by name or address, or a Unix socket. */
type SyslogServer =
  | { readonly kind: 'udp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

const FACILITIES = `kern user mail daemon auth intern lpr news uucp clock authpriv ftp ntp audit alert cron
  local0 local1 local2 local3 local4 local5 local6 local7`.split(/\s+/);
const SEVERITIES = ['emerg', 'alert', 'crit', 'error', 'warn', 'notice', 'info', 'debug'];

const DEFAULTS = { facility: 'local7', severity: 'info', tag: 'gw' };
const DEFAULT_PORT = 514;
const MAX_TAG_LENGTH = 32;

/**
 * Reads `syslog:server=address[,facility=…][,severity=…][,tag=…][,nohostname]`. Returns a text with nginx's message if
 * it is invalid.
 */
export function parseSyslog(text: string): SyslogTarget | string {
  const given = new Map<string, string>();
  for (const word of text.slice('syslog:'.length).split(',')) {
    const [, name = '', value = ''] = /^(server|facility|severity|tag)=(.*)$/s.exec(word) ?? [];
    if (name === '' && word !== 'nohostname') return `unknown syslog parameter "${word}"`;
    if (given.has(name)) return `duplicate syslog "${name}"`;
    given.set(name, value);
  }
  const server = given.has('server')
    ? parseServer(given.get('server') as string)
    : 'no syslog server specified';
  if (typeof server === 'string') return server;
  const { facility = DEFAULTS.facility, severity = DEFAULTS.severity, tag } = Object.fromEntries(given);
  if (!FACILITIES.includes(facility)) return `unknown syslog facility "${facility}"`;
  if (!SEVERITIES.includes(severity)) return `unknown syslog severity "${severity}"`;
  if (tag !== undefined && tag.length > MAX_TAG_LENGTH) return `syslog tag length exceeds ${MAX_TAG_LENGTH}`;
  if (!/^\w*$/.test(tag ?? '')) return 'syslog "tag" only allows alphanumeric characters and underscore';
  return {
    server,
    facility: FACILITIES.indexOf(facility),
    severity: SEVERITIES.indexOf(severity),
    tag: tag ?? DEFAULTS.tag,
    sendsHostname: !given.has(''),
  };
}

function parseServer(text: string): SyslogServer | string {
  if (text.startsWith('unix:')) {
    const path = text.slice(5);
    return path === ''
      ? `no path in the unix domain socket in syslog server "${text}"`
      : { kind: 'unix', path };
  }
  const [, bracketed, name = '', portText] = /^(?:\[([^\]]*)\]|([^:[\]]+))(?::(.*))?$/s.exec(text) ?? [];
  const host = bracketed ?? name;
  if (bracketed !== undefined && isIP(bracketed) !== 6)
    return `invalid IPv6 address in syslog server "${text}"`;
  if (host === '') return `no host in syslog server "${text}"`;
  const port = portText === undefined ? DEFAULT_PORT : Number(portText);
  const isPort = portText === undefined || (/^\d{1,5}$/.test(portText) && port >= 1 && port <= 65_535);
  return isPort ? { kind: 'udp', host, port } : `invalid port in syslog server "${text}"`;
}

/**
 * Looks up the name of a server, as a start does. Resolves with nginx's message if no address is found within
 * `timeoutMs`.
 */
export async function missingHost({ server }: SyslogTarget, timeoutMs: number): Promise<string | undefined> {
  if (server.kind === 'unix' || isIP(server.host) !== 0) return undefined;
  const stop = new AbortController();
  const late = sleep(timeoutMs, false, { signal: stop.signal }).catch(() => false);
  const found = await Promise.race([
    lookup(server.host).then(
      () => true,
      () => false,
    ),
    late,
  ]);
  stop.abort();
  return found ? undefined : hostNotFound(server.host);
}

/** nginx's message for a name without an address. */
export function hostNotFound(host: string): string {
  return `host not found in syslog server "${host}"`;
}
