import type { Socket } from 'node:net';
import type { ConnectionFacts, PortFacts } from '../../../http/index.ts';
import type { HeadRules } from '../../../plan/index.ts';
import { type Failing, guarded } from '../transport.ts';
import { headRulesOf } from '../head-scan.ts';
import type { NodePort } from './node-port.ts';

/** The known parts of a connection when it begins. */
export interface OpenedConnection {
  readonly socket: Socket;
  readonly open: NodePort;
  readonly facts: Pick<ConnectionFacts, 'proxyProtocol' | 'tls'>;
}

/** The socket of a connection: its addresses, writing to it, and timeouts. */
export abstract class SocketConnection implements ConnectionFacts, Failing {
  readonly serial: number;
  readonly peerAddress: string;
  readonly peerPort: number;
  readonly port: PortFacts;
  readonly startedMs = Date.now();
  readonly proxyProtocol: ConnectionFacts['proxyProtocol'];
  readonly tls: ConnectionFacts['tls'];
  requests = 0;
  isPipelined = false;
  protected readonly socket: Socket;
  protected readonly open: NodePort;
  #timer: NodeJS.Timeout | undefined = undefined;
  #waiting: (() => void)[] = [];

  protected constructor({ socket, open, facts }: OpenedConnection) {
    this.socket = socket;
    this.open = open;
    this.serial = open.nextSerial();
    this.proxyProtocol = facts.proxyProtocol;
    this.tls = facts.tls;
    this.peerAddress = plainAddress(socket.remoteAddress);
    this.peerPort = socket.remotePort ?? 0;
    const { facts: shared } = open.current.port;
    const isPlain = shared.scheme === 'https' && !facts.tls;
    this.port = portFacts(isPlain ? { ...shared, scheme: 'http' } : shared, socket);
  }

  abstract fail(error: unknown): void;
  /** Called when the connection is closed. */
  protected abstract over(): void;

  cut(): void {
    // Only plain TCP sockets can be reset.
    const canReset = this.peerPort !== 0 && this.tls === undefined;
    if (canReset && this.open.current.port.rules.connection.resetsTimedOut) this.socket.resetAndDestroy();
    else this.socket.destroy();
    this.over();
  }

  get facts(): ConnectionFacts {
    return this;
  }

  get isFull(): boolean {
    return this.socket.writableLength > 0;
  }

  /** The rules for heads until a request has named its server. */
  protected get headRules(): HeadRules {
    return headRulesOf(this.open.current.port, this.tls?.serverName ?? '');
  }

  write(...pieces: readonly (string | Uint8Array)[]): void {
    const { socket } = this;
    if (socket.destroyed || socket.writableEnded) return;
    if (pieces.length > 1) socket.cork();
    for (const piece of pieces) if (piece.length > 0) socket.write(piece);
    if (pieces.length > 1) socket.uncork();
  }

  flushed(timeoutMs: number): Promise<void> {
    const { socket } = this;
    if (!this.isFull || socket.destroyed) return Promise.resolve();
    // Before it reports a timeout, Node checks whether bytes were sent meanwhile.
    socket.setTimeout(timeoutMs);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      socket.write('', () => {
        if (!socket.destroyed) socket.setTimeout(0);
        resolve();
      });
    });
  }

  protected arm(ms: number, then: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(guarded(this, then), ms);
  }

  protected disarm(): void {
    clearTimeout(this.#timer);
  }

  /** Cancels the timer and resolves all pending promises. */
  protected release(): void {
    this.disarm();
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/**
 * Tells whether a TCP client has no address because it reset its connection. Its bytes can still be read, but access
 * rules by address would treat it as a client of a Unix socket.
 */
export function isNameless({ remoteAddress }: Socket, { current }: NodePort): boolean {
  return remoteAddress === undefined && current.port.address.kind !== 'unix';
}

/** Returns an address as nginx prints it: `unix:` for a Unix socket, IPv4 clients of an IPv6 socket as IPv4. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return 'unix:';
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

/** Replaces a wildcard address by the local address of the connection. */
export function portFacts(facts: PortFacts, { localAddress }: Socket): PortFacts {
  const isWildcard = facts.address === '0.0.0.0' || facts.address === '::';
  return isWildcard && localAddress !== undefined ? { ...facts, address: plainAddress(localAddress) } : facts;
}
