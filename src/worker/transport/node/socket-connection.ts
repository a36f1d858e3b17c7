import type { Socket } from 'node:net';
import type { ConnectionFacts, PortFacts } from '../../../http/index.ts';
import { type Failing, guarded } from '../guarded.ts';
import type { NodePort } from './node-port.ts';

/** How a connection began. */
export interface OpenedConnection {
  readonly socket: Socket;
  readonly open: NodePort;
  readonly facts: Pick<ConnectionFacts, 'proxyProtocol' | 'tls'>;
}

/** The socket of a connection: who is at its other end, what goes out, and how long that may take. */
export abstract class SocketConnection implements ConnectionFacts, Failing {
  readonly serial: number;
  readonly peerAddress: string;
  readonly peerPort: number;
  readonly port: PortFacts;
  readonly startedMs = Date.now();
  readonly proxyProtocol: ConnectionFacts['proxyProtocol'];
  readonly tls: ConnectionFacts['tls'];
  requests = 0;
  protected readonly socket: Socket;
  protected readonly open: NodePort;
  private timer: NodeJS.Timeout | undefined = undefined;
  private waiting: (() => void)[] = [];

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
  /** Nothing comes or goes any more. */
  protected abstract over(): void;

  cut(): void {
    // A socket of another kind than TCP cannot be reset.
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
    // Node looks whether bytes went out meanwhile before it tells of a timeout.
    socket.setTimeout(timeoutMs);
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      socket.write('', () => {
        if (!socket.destroyed) socket.setTimeout(0);
        resolve();
      });
    });
  }

  protected arm(ms: number, then: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(guarded(this, then), ms);
  }

  protected disarm(): void {
    clearTimeout(this.timer);
  }

  /** Lets go on who waits for what will not happen any more. */
  protected release(): void {
    this.disarm();
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

/**
 * Whether a client that must have an address has none: it reset its connection. What it sent can be read all the same, and
 * would pass for that of a Unix socket where addresses decide.
 */
export function isNameless({ remoteAddress }: Socket, { current }: NodePort): boolean {
  return remoteAddress === undefined && current.port.address.kind !== 'unix';
}

/** `unix:` for a Unix socket; IPv4 through an IPv6 socket as IPv4. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return 'unix:';
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

/** A wildcard address stands for the one that the client came to. */
function portFacts(facts: PortFacts, { localAddress }: Socket): PortFacts {
  const isWildcard = facts.address === '0.0.0.0' || facts.address === '::';
  return isWildcard && localAddress !== undefined ? { ...facts, address: plainAddress(localAddress) } : facts;
}
