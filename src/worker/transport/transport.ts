import type { PortHandler } from '../../compile/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import type { Connections } from '../../zone/index.ts';
import type { Admission } from './admission.ts';
import type { AcceptorClient } from './uws/acceptor.ts';

/** A request or connection that ends when one of its callbacks fails. */
export interface Failing {
  fail(error: unknown): void;
}

/**
 * Wraps a callback of native code, a socket or a timer. An exception that escaped would end the thread with all its
 * requests; instead it ends only the owner of the callback.
 */
export function guarded<Args extends unknown[], Result>(
  owner: Failing,
  act: (...args: Args) => Result,
): (...args: Args) => Result | undefined {
  return (...args) => {
    try {
      return act(...args);
    } catch (error) {
      endOf(owner, error);
      return undefined;
    }
  };
}

/** Ends the owner of a callback that has thrown. */
export function endOf(owner: Failing, error: unknown): void {
  try {
    owner.fail(error);
  } catch {
    // Other requests are not affected.
  }
}

/** A port that is open in this worker. A reload replaces its handlers, but not its socket. */
export interface OpenPort extends Pick<PortHandler, 'key' | 'address'> {
  /** Opens what other handlers of the port need besides its socket. Throws if they cannot be served. */
  prepare?(port: PortHandler): void;
  /** From now on, every response closes its connection. */
  drain(): void;
  /** Replaces its handlers, which have been prepared, from the next request on. */
  use(port: PortHandler): void;
  /** Stops accepting connections; open ones continue. */
  stopAccepting(): void;
  /** Closes all connections. The thread may exit when it resolves. */
  close(): Promise<void>;
}

/**
 * How this thread gets a port that it cannot bind itself: the acceptor passes connections to it, or it listens on
 * sockets that were bound for it.
 */
export type Opening =
  | { readonly kind: 'acceptor' }
  | { readonly kind: 'descriptor'; readonly fds: readonly number[] }
  /** The socket of the port's wildcard address serves it. */
  | { readonly kind: 'beside' }
  | { readonly kind: 'refused'; readonly reason: string };

/** The parts that the engines of a worker share. */
export interface EngineParts {
  readonly log: ErrorLog;
  readonly connections: Connections;
  readonly admission: Admission;
  readonly heartbeat: Heartbeat;
  /** Accepts connections for ports that this process may not bind. */
  readonly acceptor: AcceptorClient | undefined;
}

/** An HTTP engine. */
export interface Transport {
  /** Opens the socket; rejects if the address cannot be bound. */
  open(port: PortHandler, opening?: Opening): Promise<OpenPort>;
  /** Tells whether an open socket can serve another configuration of its address; default: always. */
  canKeep?(open: OpenPort, port: PortHandler): boolean;
}

/** The wire that a response stream belongs to. */
export interface StreamOwner {
  readonly x: Exchange;
  /** Called by the stream when the whole response is sent. */
  finished(): void;
}

/**
 * Shows the master that a worker makes progress: a counter in shared memory that only this thread increments. A timer
 * increments it, and so does each request when it begins or ends: many requests that arrive at once are served in one
 * turn of the event loop and may delay timers by seconds.
 */
export class Heartbeat {
  readonly #cells: Int32Array;
  readonly #at: number;

  constructor(buffer: SharedArrayBuffer, at: number) {
    this.#cells = new Int32Array(buffer);
    this.#at = at;
  }

  beat(): void {
    (this.#cells[this.#at] as number) += 1;
  }
}

/** The current time in the format of `Date` (RFC 9110, 5.6.7), rendered once per second. */
export class HttpDate {
  #second = 0;
  #made = '';

  text(): string {
    const second = Math.floor(Date.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#made = new Date(second * 1000).toUTCString();
    }
    return this.#made;
  }
}
