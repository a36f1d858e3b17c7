import { createServer } from 'node:net';
import type { ListenOptions, Server, Socket } from 'node:net';
import type { PortHandler } from '../../../compile/index.ts';
import type { ListenAddress } from '../../../contract/index.ts';
import { systemReason } from '../../../log/index.ts';
import { admitEverybody } from '../socket-file.ts';
import type { Opening } from '../transport.ts';
import { plainAddress } from './socket-line.ts';

/** Takes a connection. */
export type Accept = (socket: Socket) => void;

/** A port, and how this thread comes by its socket where it may not bind it. */
export interface PortToOpen extends Pick<PortHandler, 'address' | 'key'> {
  readonly opening?: Opening | undefined;
}

/** Bytes that Node reads and buffers at once. */
const BUFFER_BYTES = 65_536;
/** Connections that may wait to be accepted, as uWebSockets.js has it. */
const BACKLOG = 512;
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Closes a socket; what is handed over runs when it is closed. */
type Close = (closed?: () => void) => void;

/** An address that another one's socket serves. */
interface Guest {
  readonly accept: Accept;
  /** Listens itself, now that the host is gone. */
  readonly moveOut: () => void;
}

/**
 * The listening sockets of one worker. Before Node 22.12 one address cannot be bound beside the wildcard of its port: then
 * the wildcard's socket serves it, as nginx does it.
 */
export class Listeners {
  private readonly guests = new Map<string, Map<string, Guest>>();
  private readonly failed: (error: Error) => void;

  /** `failed` hears of sockets that cannot accept any more. */
  constructor(failed: (error: Error) => void) {
    this.failed = failed;
  }

  /** Gives what closes it again. */
  async open(port: PortToOpen, accept: Accept): Promise<() => void> {
    const { address } = port;
    if (address.kind === 'unix') return this.listen(port, accept);
    const { host } = address;
    const place = `${host.includes(':') ? 'IPv6' : 'IPv4'} ${address.port}`;
    if (!WILDCARDS.has(host)) return this.openBeside(port, accept, place);
    const guests = new Map<string, Guest>();
    const close = await this.listen(port, (socket) => {
      const guest = guests.get(plainAddress(socket.localAddress));
      (guest?.accept ?? accept)(socket);
    });
    this.guests.set(place, guests);
    return () => {
      this.guests.delete(place);
      close(() => {
        for (const { moveOut } of guests.values()) moveOut();
      });
    };
  }

  private async openBeside(port: PortToOpen, accept: Accept, place: string): Promise<() => void> {
    const host = port.address.kind === 'inet' ? port.address.host : '';
    const guests = this.guests.get(place);
    try {
      return await this.listen(port, accept);
    } catch (error) {
      if (!guests) throw error;
    }
    let close = (): void => void guests.delete(host);
    const moveOut = (): void => {
      void this.listen(port, accept).then((closeOwn) => {
        close = closeOwn;
      }, this.failed);
    };
    guests.set(host, { accept, moveOut });
    return () => close();
  }

  private listen(port: PortToOpen, accept: Accept): Promise<Close> {
    const server = createServer({ allowHalfOpen: true, noDelay: true, highWaterMark: BUFFER_BYTES });
    server.on('connection', accept);
    return bind(server, port).then(() => {
      server.on('error', this.failed);
      return (closed) => closeSoon(server, closed);
    });
  }
}

/** Behind the next poll: connections that the kernel took before are accepted, where closing at once would reset them. */
function closeSoon(server: Server, closed: () => void = () => undefined): void {
  const close = (): void => {
    server.close();
    closed();
  };
  setImmediate(() => setImmediate(close));
}

function socketOf(
  address: ListenAddress,
  opening: Opening | undefined,
): ListenOptions & { fd?: number; reusePort?: boolean } {
  if (opening?.kind === 'descriptor') return { fd: opening.fd };
  if (address.kind === 'unix') return { path: address.path };
  return { host: address.host, port: address.port, ipv6Only: true, exclusive: true, reusePort: true };
}

function bind(server: Server, { address, key, opening }: PortToOpen): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new Error(`bind() to ${key} failed (${systemReason(error)})`)));
    server.listen({ ...socketOf(address, opening), backlog: BACKLOG }, () => {
      server.removeAllListeners('error');
      if (!opening) admitEverybody(address);
      resolve();
    });
  });
}
