import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns';
import { hostname } from 'node:os';
import { systemReason } from '../../system/index.ts';
import { syslogTime } from '../time.ts';
import { type ChannelReports, hostNotFound, type SyslogTarget } from './target.ts';

/** Number of packets that are queued until the server's name is resolved. */
const MAX_WAITING = 1000;
const RETRY_MS = 5_000;
/** Longer packets are cut: a line of the error log, and what stands before it. */
const MAX_PACKET_BYTES = 4096 + 256;
const HOSTNAME = hostname().toLowerCase();

interface UdpServer {
  readonly host: string;
  readonly port: number;
}

/** Sends datagrams to a syslog server. Its name is resolved once; a failed lookup is repeated later. */
export class UdpChannel {
  readonly #server: UdpServer;
  /** The text between the time and the message. */
  readonly #origin: string;
  readonly #tell: (trouble: string) => void;
  readonly #dropped: () => void;
  #socket: Socket | undefined;
  #waiting: Buffer[] = [];
  #retry: NodeJS.Timeout | undefined;
  #unsent = 0;
  #isClosed = false;
  #whenSent: (() => void) | undefined;

  constructor(
    server: UdpServer,
    { tag, sendsHostname }: Pick<SyslogTarget, 'tag' | 'sendsHostname'>,
    { tell, dropped }: ChannelReports,
  ) {
    this.#server = server;
    this.#origin = sendsHostname ? `${HOSTNAME} ${tag}: ` : `${tag}: `;
    this.#tell = tell;
    this.#dropped = dropped;
    this.#connect();
  }

  send(priority: number, message: string): void {
    const text = `<${priority}>${syslogTime(Date.now())} ${this.#origin}${message}`;
    const packet = Buffer.from(text).subarray(0, MAX_PACKET_BYTES);
    if (this.#socket) this.#give(this.#socket, packet);
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(packet);
    else this.#dropped();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    const socket = this.#socket;
    for (const _ of this.#waiting.splice(0)) this.#dropped();
    const sent =
      this.#unsent === 0 ? Promise.resolve() : new Promise<void>((resolve) => (this.#whenSent = resolve));
    return sent.then(() => void socket?.close());
  }

  #give(socket: Socket, packet: Buffer): void {
    this.#unsent++;
    socket.send(packet, (error) => {
      if (error) {
        // One datagram is lost, but not this one if the system tells now that an earlier one was refused.
        this.#lose(error);
        if (wasRefused(error) && !this.#isClosed) this.#give(socket, packet);
        else if (wasRefused(error)) this.#dropped();
      }
      if (--this.#unsent === 0) this.#whenSent?.();
    });
  }

  #connect(): void {
    const { host, port } = this.#server;
    lookup(host, (failed, address, family) => {
      if (this.#isClosed) return;
      if (failed) return this.#tryLater(hostNotFound(host));
      const socket = createSocket(family === 6 ? 'udp6' : 'udp4').unref();
      // The refusal of a datagram comes here, unless the next one is sent before.
      socket.on('error', (error) =>
        wasRefused(error) ? this.#lose(error) : this.#tell(this.#failed(error)),
      );
      socket.connect(port, address, () => {
        this.#socket = socket;
        for (const packet of this.#waiting.splice(0)) this.#give(socket, packet);
      });
    });
  }

  #lose(error: Error): void {
    this.#dropped();
    this.#tell(this.#failed(error));
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

function wasRefused(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNREFUSED';
}
