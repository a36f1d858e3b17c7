import type { Socket } from 'node:net';
import type { KeepaliveConfig, Peer } from '../../../upstream/index.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import type { Connector, Destination, DialCallbacks } from './connector.ts';

/** Idle connections that a group keeps where its configuration does not say (nginx 1.29.7 and later). */
const DEFAULT_IDLE = 32;

/** The connections of one group: those that are idle wait here for the next request, the least recently used leaves first. */
export class Connections implements ConnectionOwner {
  private readonly connector: Connector;
  private readonly keepalive: KeepaliveConfig;
  private readonly most: number;
  private readonly kept: Connection[] = [];
  private closed = false;

  constructor(connector: Connector, keepalive: KeepaliveConfig) {
    this.connector = connector;
    this.keepalive = keepalive;
    this.most = keepalive.connections ?? DEFAULT_IDLE;
  }

  /** An idle connection to the peer, if there is one. */
  take({ address }: Peer, name: string): Connection | undefined {
    const { kept } = this;
    for (let at = kept.length - 1; at >= 0; at--) {
      const connection = kept[at] as Connection;
      if (connection.peer.address !== address || connection.name !== name) continue;
      kept.splice(at, 1);
      if (connection.isOpen) return connection;
    }
    return undefined;
  }

  /** A new connection; gives a function that gives up. */
  open(peer: Peer, to: Omit<Destination, 'address'>, dialled: ConnectionCallbacks): () => void {
    const opened = (socket: Socket): void =>
      dialled.opened(
        new Connection(socket, { peer, name: this.connector.settings.tls ? to.name : '' }, this),
      );
    return this.connector.open({ ...to, address: peer.address }, { opened, refused: dialled.refused });
  }

  get isTls(): boolean {
    return this.connector.settings.tls !== undefined;
  }

  idle(connection: Connection): void {
    const { requests, timeMs, timeoutMs } = this.keepalive;
    const isWorn = connection.requests >= requests || performance.now() - connection.openedMs >= timeMs;
    if (this.closed || this.most === 0 || isWorn) return connection.destroy();
    if (this.kept.length >= this.most) this.kept.shift()?.destroy();
    this.kept.push(connection);
    connection.waitIdle(timeoutMs);
  }

  gone(connection: Connection): void {
    const at = this.kept.indexOf(connection);
    if (at >= 0) this.kept.splice(at, 1);
  }

  /** Connections that carry a request end with it. */
  close(): void {
    this.closed = true;
    for (const connection of this.kept.splice(0)) connection.destroy();
  }
}

/** What became of opening a connection. */
interface ConnectionCallbacks {
  opened(connection: Connection): void;
  readonly refused: DialCallbacks['refused'];
}
