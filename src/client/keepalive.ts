import type { Socket } from 'node:net';
import type { KeepaliveConfig, Peer } from '../upstream/index.ts';
import type { Carriers } from './carrier.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import type { Connector, Destination, DialCallbacks } from './connector.ts';
import type { Inlet } from './socket-input.ts';
import { MessageReader } from './message-reader.ts';
import type { ResponseReader } from './response-reader.ts';

/** Idle connections that a group keeps by default (nginx 1.29.7 and later). */
const DEFAULT_IDLE = 32;

/**
 * The connections of one group. Idle ones are kept for later requests; if there are too many, the least recently used
 * one is closed.
 */
export class Connections implements Carriers, ConnectionOwner {
  readonly #connector: Connector;
  readonly #keepalive: KeepaliveConfig;
  readonly #reader: () => ResponseReader;
  readonly #most: number;
  readonly #kept: Connection[] = [];
  #closed = false;

  /** `reader` creates the reader of responses for one connection. */
  constructor(
    connector: Connector,
    keepalive: KeepaliveConfig,
    reader: () => ResponseReader = () => new MessageReader(),
  ) {
    this.#reader = reader;
    this.#connector = connector;
    this.#keepalive = keepalive;
    this.#most = keepalive.connections ?? DEFAULT_IDLE;
  }

  take({ address }: Peer, name: string): Connection | undefined {
    const kept = this.#kept;
    for (let at = kept.length - 1; at >= 0; at--) {
      const connection = kept[at] as Connection;
      if (connection.peer.address !== address || connection.name !== name) continue;
      kept.splice(at, 1);
      if (connection.isOpen) return connection;
    }
    return undefined;
  }

  open(peer: Peer, to: Omit<Destination, 'address'>, dialled: ConnectionCallbacks): () => void {
    const name = this.#connector.settings.tls ? to.name : '';
    const opened = (socket: Socket, inlet: Inlet | undefined): void =>
      dialled.opened(new Connection(socket, { peer, name, inlet, reader: this.#reader() }, this));
    return this.#connector.open({ ...to, address: peer.address }, { opened, refused: dialled.refused });
  }

  get isTls(): boolean {
    return this.#connector.settings.tls !== undefined;
  }

  idle(connection: Connection): void {
    const { requests, timeMs, timeoutMs } = this.#keepalive;
    const isWorn = connection.requests >= requests || performance.now() - connection.openedMs >= timeMs;
    if (this.#closed || this.#most === 0 || isWorn) return connection.destroy();
    if (this.#kept.length >= this.#most) this.#kept.shift()?.destroy();
    this.#kept.push(connection);
    connection.waitIdle(timeoutMs);
  }

  gone(connection: Connection): void {
    const at = this.#kept.indexOf(connection);
    if (at >= 0) this.#kept.splice(at, 1);
  }

  /** Closes idle connections. A connection with a request is closed after it. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#kept.splice(0)) connection.destroy();
  }
}

/** Called with the outcome of an attempt to connect. */
interface ConnectionCallbacks {
  opened(connection: Connection): void;
  readonly refused: DialCallbacks['refused'];
}
