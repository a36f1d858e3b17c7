import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { lookup } from 'node:dns';
import { hostname } from 'node:os';
import type { SyslogTarget } from './syslog-target.ts';
import type { SyslogChannel } from './syslog-channel.ts';
import { syslogTime } from './time.ts';

/** Packets that may wait until the name of the server is known. */
const MAX_WAITING = 1000;
const RETRY_MS = 5_000;
/** The rest of a longer packet is cut, as nginx cuts it. */
const MAX_PACKET_BYTES = 2048 + 256;
const HOSTNAME = hostname().toLowerCase();

interface Place {
  readonly host: string;
  readonly port: number;
}

/** Datagrams to a syslog server. Its name is asked for once, and again later when that fails. */
export function openUdpChannel(
  server: Place,
  { tag, hostname: names }: Pick<SyslogTarget, 'tag' | 'hostname'>,
  tell: (trouble: string) => void,
): SyslogChannel {
  return new UdpChannel(server, names ? `${HOSTNAME} ${tag}: ` : `${tag}: `, tell);
}

class UdpChannel implements SyslogChannel {
  readonly #server: Place;
  /** Between the time and the message. */
  readonly #origin: string;
  readonly #tell: (trouble: string) => void;
  #socket: Socket | undefined;
  #waiting: Buffer[] = [];
  #retry: NodeJS.Timeout | undefined;
  #unsent = 0;
  #isClosed = false;
  #whenSent: (() => void) | undefined;

  constructor(server: Place, origin: string, tell: (trouble: string) => void) {
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
      this.#tell(error ? error.message : '');
      if (--this.#unsent === 0) this.#whenSent?.();
    });
  }

  #connect(): void {
    const { host, port } = this.#server;
    lookup(host, (failed, address, family) => {
      if (this.#isClosed) return;
      if (failed) return this.#tryLater(`host not found in syslog server "${host}"`);
      const socket = createSocket(family === 6 ? 'udp6' : 'udp4').unref();
      socket.on('error', (error) => this.#tell(error.message));
      socket.connect(port, address, () => {
        this.#socket = socket;
        for (const packet of this.#waiting.splice(0)) this.#give(socket, packet);
      });
    });
  }

  #tryLater(trouble: string): void {
    this.#tell(trouble);
    this.#retry = setTimeout(() => this.#connect(), RETRY_MS).unref();
  }
}
