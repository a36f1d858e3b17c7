import type { Duplex } from 'node:stream';
import type { PortHandler } from '../../../compile/index.ts';
import type { ConnectionFacts, Exchange, PortFacts } from '../../../http/index.ts';
import type { ErrorLog } from '../../../log/index.ts';
import type { Connections } from '../../../zone/index.ts';
import type { SilenceWatch } from '../request-body.ts';
import type { Heartbeat } from '../transport.ts';
import type { Head, HeadReader } from './head-reader.ts';
import type { RequestSource } from './request-source.ts';
import type { TlsServers } from './tls-servers.ts';

/** The current time as `Date` says it (RFC 9110, 5.6.7); made once for all answers of a second. */
export class HttpDate {
  private second = 0;
  private made = '';

  text(): string {
    const second = Math.floor(Date.now() / 1000);
    if (second !== this.second) {
      this.second = second;
      this.made = new Date(second * 1000).toUTCString();
    }
    return this.made;
  }
}

/** A connection on which nothing goes on. */
export interface IdleConnection {
  cut(): void;
}

/** What the connections of one port share. */
export interface NodePort {
  /** What serves requests that begin now: a reload exchanges it. */
  current: { readonly port: PortHandler; readonly reader: HeadReader };
  /** Every answer closes its connection. */
  draining: boolean;
  readonly silence: SilenceWatch;
  readonly connections: Connections;
  readonly heartbeat: Heartbeat;
  /** Of all ports, the one that waits the longest first. */
  readonly idle: Set<IdleConnection>;
  readonly log: ErrorLog;
  readonly date: HttpDate;
  readonly tlsServers: TlsServers;
  /** Serial numbers of connections. */
  readonly nextSerial: () => number;
}

/** What a connection wants to know of a request that is over. */
export interface FinishedRequest {
  readonly x: Exchange;
  /** The connection ends with this response. */
  readonly closes: boolean;
}

/** The connection, as far as a request on it goes. */
export interface ExchangeConnection {
  readonly facts: ConnectionFacts;
  readonly serial: number;
  readonly peerAddress: string;
  readonly peerPort: number;
  readonly port: PortFacts;
  /** What was written is not all on its way. */
  readonly isFull: boolean;
  write(...pieces: readonly (string | Uint8Array)[]): void;
  /** Resolves when all is on its way, or nobody is left; a client that takes nothing for `timeoutMs` is cut. */
  flushed(timeoutMs: number): Promise<void>;
  /** The answer is complete. */
  responded(wire: FinishedRequest): void;
  /** The connection speaks another protocol from now on: its socket, with what came of that already. */
  handOver(): Duplex;
  /** Closes at once. */
  cut(): void;
}

/** What a connection hands to the exchange of a request. */
export interface ReceivedRequest {
  readonly head: Head;
  readonly source: RequestSource;
  readonly connection: ExchangeConnection;
  readonly open: NodePort;
}
