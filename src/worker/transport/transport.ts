import type { PortHandler } from '../../compile/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import type { Connections } from '../../zone/index.ts';
import type { Admission } from './admission.ts';
import type { AcceptorClient } from './uws/acceptor.ts';

/** A port that is open in this worker; its handlers are exchanged on a reload, its socket is not. */
export interface OpenPort {
  readonly key: string;
  /** Lets every answer from now on close its connection. */
  drain(): void;
  /** Takes effect with the next request. */
  use(port: PortHandler): void;
  /** No new connections; those that are open go on. */
  stopAccepting(): void;
  /** Cuts what is left. The thread may end when it is done. */
  close(): Promise<void>;
}

/**
 * How this thread comes by a port that its process may not bind any more: connections come from the acceptor, or it listens
 * on a socket that was bound for it.
 */
export type Opening =
  | { readonly kind: 'acceptor' }
  | { readonly kind: 'descriptor'; readonly fd: number }
  | { readonly kind: 'refused'; readonly reason: string };

/** What the engines of a worker share. */
export interface EngineParts {
  readonly log: ErrorLog;
  readonly connections: Connections;
  readonly admission: Admission;
  readonly heartbeat: Heartbeat;
  /** Accepts connections of ports that this process may not bind. */
  readonly acceptor: AcceptorClient | undefined;
}

/** An HTTP engine. */
export interface Transport {
  /** Opens the socket; fails when the address cannot be bound. */
  open(port: PortHandler, opening?: Opening): Promise<OpenPort>;
  /** Whether an open socket may go on with another configuration of its address; default: always. */
  canKeep?(open: OpenPort, port: PortHandler): boolean;
}

/** The wire that a response stream belongs to. */
export interface StreamOwner {
  readonly x: Exchange;
  /** Called by the stream when the whole response is sent. */
  finished(): void;
}

/**
 * Shows the master that a worker makes progress: a number in shared memory that only this thread raises. A timer beats, and so
 * does each request: what comes at once is taken in one turn of the event loop, and may keep timers waiting for seconds.
 */
export class Heartbeat {
  private readonly cells: Int32Array;
  private readonly at: number;

  constructor(buffer: SharedArrayBuffer, at: number) {
    this.cells = new Int32Array(buffer);
    this.at = at;
  }

  beat(): void {
    (this.cells[this.at] as number) += 1;
  }
}
