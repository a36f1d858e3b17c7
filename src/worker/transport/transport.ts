import type { PortHandler } from '../../compile/index.ts';

/** A port that is open in this worker; its handlers are exchanged on a reload, its socket is not. */
export interface OpenPort {
  readonly key: string;
  /** Lets every answer from now on close its connection. */
  drain(): void;
  /** Takes effect with the next request. */
  use(port: PortHandler): void;
  /** No new connections; those that are open go on. */
  stopAccepting(): void;
  /** Cuts what is left. */
  close(): void;
}

/** An HTTP engine. */
export interface Transport {
  /** Opens the socket; fails when the address cannot be bound. */
  open(port: PortHandler): Promise<OpenPort>;
  /** Whether an open socket may go on with another configuration of its address; default: always. */
  canKeep?(open: OpenPort, port: PortHandler): boolean;
}
