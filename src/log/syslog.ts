import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { helperEnvironment, systemReason } from '../system/index.ts';
import { syslogTime } from './time.ts';

/** The parameters of `syslog:`. */
export interface SyslogTarget {
  readonly server: SyslogServer;
  /** 0 … 23. */
  readonly facility: number;
  /** 0 … 7; the error log uses the level of each line instead. */
  readonly severity: number;
  readonly tag: string;
  readonly hostname: boolean;
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
    hostname: !given.has(''),
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

/** A connection to a syslog server. It never fails: messages that cannot be sent are dropped. */
interface SyslogChannel {
  /** Sends a message; `priority` combines facility and severity (RFC 3164, 4.1.1). */
  send(priority: number, message: string): void;
  /** Resolves when all messages have been sent. */
  close(): Promise<void>;
}

/** Number of packets that are queued until the server's name is resolved. */
const MAX_WAITING = 1000;
const RETRY_MS = 5_000;
/** Longer packets are cut, as in nginx. */
const MAX_PACKET_BYTES = 2048 + 256;
const HOSTNAME = hostname().toLowerCase();

interface UdpServer {
  readonly host: string;
  readonly port: number;
}

/** Sends datagrams to a syslog server. Its name is resolved once; a failed lookup is repeated later. */
function openUdpChannel(
  server: UdpServer,
  { tag, hostname: names }: Pick<SyslogTarget, 'tag' | 'hostname'>,
  tell: (trouble: string) => void,
): SyslogChannel {
  return new UdpChannel(server, names ? `${HOSTNAME} ${tag}: ` : `${tag}: `, tell);
}

class UdpChannel implements SyslogChannel {
  readonly #server: UdpServer;
  /** The text between the time and the message. */
  readonly #origin: string;
  readonly #tell: (trouble: string) => void;
  #socket: Socket | undefined;
  #waiting: Buffer[] = [];
  #retry: NodeJS.Timeout | undefined;
  #unsent = 0;
  #isClosed = false;
  #whenSent: (() => void) | undefined;

  constructor(server: UdpServer, origin: string, tell: (trouble: string) => void) {
    this.#server = server;
    this.#origin = origin;
    this.#tell = tell;
    this.#connect();
  }

  send(priority: number, message: string): void {
    const text = `<${priority}>${syslogTime(Date.now())} ${this.#origin}${message}`;
    const packet = Buffer.from(text).subarray(0, MAX_PACKET_BYTES);
    if (this.#socket) this.#give(this.#socket, packet);
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(packet);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    const socket = this.#socket;
    const sent =
      this.#unsent === 0 ? Promise.resolve() : new Promise<void>((resolve) => (this.#whenSent = resolve));
    return sent.then(() => void socket?.close());
  }

  #give(socket: Socket, packet: Buffer): void {
    this.#unsent++;
    socket.send(packet, (error) => {
      if (error) this.#tell(this.#failed(error));
      if (--this.#unsent === 0) this.#whenSent?.();
    });
  }

  #connect(): void {
    const { host, port } = this.#server;
    lookup(host, (failed, address, family) => {
      if (this.#isClosed) return;
      if (failed) return this.#tryLater(`host not found in syslog server "${host}"`);
      const socket = createSocket(family === 6 ? 'udp6' : 'udp4').unref();
      socket.on('error', (error) => this.#tell(this.#failed(error)));
      socket.connect(port, address, () => {
        this.#socket = socket;
        for (const packet of this.#waiting.splice(0)) this.#give(socket, packet);
      });
    });
  }

  #failed(error: Error): string {
    const { host, port } = this.#server;
    return `send() failed (${systemReason(error)}) while logging to syslog, server: ${host}:${port}`;
  }

  #tryLater(trouble: string): void {
    this.#tell(trouble);
    this.#retry = setTimeout(() => this.#connect(), RETRY_MS).unref();
  }
}

/** Bytes that may be queued for the program; further messages are dropped. */
const MAX_WAITING_BYTES = 1_048_576;
/** A program that has ended is started again with the next line, but not before this time has passed. */
const PAUSE_MS = 5_000;
const MAX_MESSAGE_BYTES = 2048;
const LINE_ENDS = /[\r\n]+/g;

type Logger = ChildProcessByStdio<Writable, null, Readable>;

/**
 * Sends lines to a Unix socket such as /dev/log. These are datagram sockets, which Node.js cannot open, so `logger` of
 * util-linux sends them. It reads `<priority>message` lines and adds the header.
 */
function openLoggerChannel(
  path: string,
  target: Pick<SyslogTarget, 'tag' | 'hostname'>,
  tell: (trouble: string) => void,
): SyslogChannel {
  return new LoggerChannel(argumentsOf(path, target), tell);
}

function argumentsOf(path: string, { tag, hostname }: Pick<SyslogTarget, 'tag' | 'hostname'>): string[] {
  const size = ['--size', String(MAX_MESSAGE_BYTES)];
  // The default format for local sockets has no host name.
  const format = hostname ? ['--rfc3164'] : [];
  return ['--socket', path, '--socket-errors=on', '--prio-prefix', '--tag', tag, ...size, ...format];
}

class LoggerChannel implements SyslogChannel {
  readonly #arguments: readonly string[];
  readonly #tell: (trouble: string) => void;
  #program: Logger | undefined;
  #startedMs = -Infinity;

  constructor(words: readonly string[], tell: (trouble: string) => void) {
    this.#arguments = words;
    this.#tell = tell;
  }

  send(priority: number, message: string): void {
    const input = this.#running()?.stdin;
    if (!input || input.writableLength > MAX_WAITING_BYTES) return;
    input.write(`<${priority}>${message.replace(LINE_ENDS, ' ')}\n`);
  }

  close(): Promise<void> {
    const program = this.#program;
    this.#program = undefined;
    this.#startedMs = Infinity;
    if (!program) return Promise.resolve();
    return new Promise((resolve) => {
      program.once('close', () => resolve());
      program.stdin.end();
    });
  }

  #running(): Logger | undefined {
    if (this.#program || performance.now() - this.#startedMs < PAUSE_MS) return this.#program;
    this.#startedMs = performance.now();
    const program = spawn('logger', this.#arguments, {
      env: helperEnvironment(),
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    this.#program = program;
    program.stdin.on('error', () => undefined);
    createInterface(program.stderr).on('line', (trouble) => this.#tell(trouble));
    program.on('error', (error) => this.#tell(`the program "logger" cannot be started: ${error.message}`));
    program.on('close', () => {
      if (this.#program === program) this.#program = undefined;
    });
    program.unref();
    return program;
  }
}

/** A syslog destination. */
interface Syslog {
  /** Sends a message; `severity` overrides that of the target. */
  write(message: string, severity?: number): void;
  close(): Promise<void>;
}

/**
 * Time within which a problem is reported once. Success does not end it: the refusal of a datagram is the result of the next one, so
 * every other datagram to a port that is closed seems to have been sent.
 */
const REPORT_INTERVAL_MS = 60_000;

/** Opens a syslog destination (RFC 3164). `tell` receives each new problem, and again once a minute while it lasts. */
export function openSyslog(target: SyslogTarget, tell: (trouble: string) => void): Syslog {
  const { server, facility, severity: usual } = target;
  let last = { trouble: '', atMs: 0 };
  const report = (trouble: string): void => {
    const atMs = performance.now();
    if (trouble === last.trouble && atMs - last.atMs < REPORT_INTERVAL_MS) return;
    last = { trouble, atMs };
    tell(trouble);
  };
  const channel =
    server.kind === 'udp'
      ? openUdpChannel(server, target, report)
      : openLoggerChannel(server.path, target, report);
  return {
    write: (message, severity = usual) => channel.send(facility * 8 + severity, message),
    close: () => channel.close(),
  };
}
