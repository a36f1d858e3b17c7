import type { Socket } from 'node:net';
import type { KeepaliveConfig, Peer } from '../../upstream/index.ts';
import type { Carrier, CarrierCallbacks, Carriers } from '../carrier.ts';
import type { Connector, Destination } from '../connector.ts';
import { timedOut, UpstreamFault } from '../fault.ts';
import { ConnectionWatch } from './connection-watch.ts';
import { type ConnectionKeeper, Http2Connection } from './http2-connection.ts';

/** Idle connections that a group keeps by default (nginx 1.29.7 and later). */
const DEFAULT_IDLE = 32;
/** An unreadable frame is noticed within two such periods. */
const WATCH_MS = 250;
/** Most requests that wait for one connection until its peer has announced how many it accepts; one goes out at once. */
const MOST_WAITING = 100;

/** The destination of a connection that is being opened. */
interface Course {
  readonly peer: Peer;
  readonly name: string;
  readonly to: Omit<Destination, 'address'>;
}

/** A connection that is being opened, and the requests that wait for it. */
interface Opening extends Course {
  readonly waiting: Set<Waiter>;
  cancel: () => void;
  connection: Http2Connection | undefined;
}

interface Waiter {
  readonly dialled: CarrierCallbacks;
  opening: Opening;
}

/** Connections to one address whose certificates were checked for different names are different ones. */
function keyOf(address: string, name: string): string {
  return `${address} ${name}`;
}

/**
 * The connections of one group whose peers speak HTTP/2. Requests share a connection, as many as the peer allows; another
 * one is opened when all are full. Idle ones are kept for later requests; if there are too many, the least recently used
 * one is closed.
 */
export class Http2Connections implements Carriers, ConnectionKeeper {
  readonly keepalive: KeepaliveConfig;
  readonly #connector: Connector;
  readonly #most: number;
  /** Connections that are ready, by peer and name. */
  readonly #ready = new Map<string, Http2Connection[]>();
  /** Connections without a request, in the order in which they became idle. */
  readonly #idle = new Set<Http2Connection>();
  readonly #openings = new Set<Opening>();
  readonly #watch = new ConnectionWatch(WATCH_MS);
  #closed = false;

  constructor(connector: Connector, keepalive: KeepaliveConfig) {
    this.#connector = connector;
    this.keepalive = keepalive;
    this.#most = keepalive.connections ?? DEFAULT_IDLE;
  }

  get isTls(): boolean {
    return this.#connector.settings.tls !== undefined;
  }

  take({ address }: Peer, name: string): Carrier | undefined {
    const free = this.#ready.get(keyOf(address, name))?.filter(({ hasRoom }) => hasRoom);
    // Connections in use come first, so that idle ones may be closed.
    const chosen = free?.find(({ isIdle }) => !isIdle) ?? free?.at(-1);
    return chosen && this.#streamOf(chosen);
  }

  #streamOf(connection: Http2Connection): Carrier {
    this.#idle.delete(connection);
    return connection.stream();
  }

  open(peer: Peer, to: Omit<Destination, 'address'>, dialled: CarrierCallbacks): () => void {
    const course: Course = { peer, to, name: this.isTls ? to.name : '' };
    const opening = this.#openingOf(course);
    const waiter: Waiter = { dialled, opening };
    opening.waiting.add(waiter);
    return () => this.#leave(waiter);
  }

  #leave(waiter: Waiter): void {
    const { opening } = waiter;
    opening.waiting.delete(waiter);
    if (opening.waiting.size > 0 || opening.connection?.isIdle === false) return;
    if (this.#openings.delete(opening)) opening.cancel();
  }

  /** Returns an opening with room for another request. */
  #openingOf(course: Course): Opening {
    const { address } = course.peer;
    const [known] = this.#ready.get(keyOf(address, course.name)) ?? [];
    const most = Math.min(known?.mostStreams ?? MOST_WAITING, MOST_WAITING);
    const found = [...this.#openings].find(
      ({ peer, name, waiting }) => peer.address === address && name === course.name && waiting.size < most,
    );
    return found ?? this.#dial(course);
  }

  #dial(course: Course): Opening {
    const { peer, to } = course;
    const opening: Opening = {
      ...course,
      waiting: new Set(),
      cancel: () => undefined,
      connection: undefined,
    };
    this.#openings.add(opening);
    const endsMs = performance.now() + to.timeoutMs;
    opening.cancel = this.#connector.open(
      { ...to, address: peer.address },
      {
        opened: (socket) => this.#greet(opening, socket, endsMs),
        refused: (fault) => this.#refuse(opening, fault),
      },
    );
    return opening;
  }

  /**
   * Sends the first request at once (RFC 9113, 3.4): some servers send their settings only when they have one. The others
   * wait until the peer has said how many it accepts, for the rest of the time for connecting.
   */
  #greet(opening: Opening, socket: Socket, endsMs: number): void {
    const connection = new Http2Connection(socket, opening, this);
    const [first] = opening.waiting;
    opening.connection = connection;
    opening.cancel = () => connection.close();
    this.#watch.add(connection);
    if (first) {
      opening.waiting.delete(first);
      first.dialled.opened(connection.stream());
    }
    connection.waitIdle(Math.max(endsMs - performance.now(), 1));
  }

  #openingWith(connection: Http2Connection): Opening | undefined {
    return [...this.#openings].find((one) => one.connection === connection);
  }

  #refuse(opening: Opening, fault: UpstreamFault): void {
    this.#openings.delete(opening);
    for (const { dialled } of opening.waiting) dialled.refused(fault);
  }

  ready(connection: Http2Connection): void {
    const opening = this.#openingWith(connection);
    if (connection.mostStreams === 0) {
      const message = 'upstream allows no streams while connecting to upstream';
      if (opening) this.#refuse(opening, new UpstreamFault('error', message));
      // A request that went out before may be served nevertheless.
      return connection.isIdle ? connection.close() : undefined;
    }
    const key = keyOf(connection.peer.address, connection.name);
    this.#ready.set(key, [...(this.#ready.get(key) ?? []), connection]);
    if (opening) this.#assign(opening, connection);
    if (connection.isIdle) this.idle(connection);
  }

  #assign(opening: Opening, connection: Http2Connection): void {
    this.#openings.delete(opening);
    for (const waiter of opening.waiting) {
      // The first request is served even if the connection is older than `keepalive_time` by now.
      if (connection.isIdle || connection.hasRoom) waiter.dialled.opened(this.#streamOf(connection));
      else this.#move(waiter, opening);
    }
  }

  #move(waiter: Waiter, course: Course): void {
    const opening = this.#openingOf(course);
    waiter.opening = opening;
    opening.waiting.add(waiter);
  }

  late(connection: Http2Connection): void {
    const opening = this.#openingWith(connection);
    if (opening) this.#refuse(opening, timedOut('connecting to upstream'));
  }

  idle(connection: Http2Connection): void {
    const opening = this.#openingWith(connection);
    // The first request was given up before the peer has sent its settings.
    if (opening && opening.waiting.size > 0) return;
    if (opening || !connection.hasSettings) {
      if (opening) this.#openings.delete(opening);
      return connection.close();
    }
    if (this.#closed || this.#most === 0 || connection.isWorn) return connection.close();
    this.#idle.add(connection);
    connection.waitIdle(this.keepalive.timeoutMs);
    for (const oldest of this.#idle) {
      if (this.#idle.size <= this.#most) return;
      this.#idle.delete(oldest);
      oldest.close();
    }
  }

  gone(connection: Http2Connection, fault: UpstreamFault): void {
    this.#idle.delete(connection);
    this.#watch.delete(connection);
    const key = keyOf(connection.peer.address, connection.name);
    const others = this.#ready.get(key)?.filter((other) => other !== connection) ?? [];
    if (others.length > 0) this.#ready.set(key, others);
    else this.#ready.delete(key);
    const opening = this.#openingWith(connection);
    if (opening) this.#refuse(opening, fault);
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#idle) connection.close();
  }
}
