import type { Duplex } from 'node:stream';
import type { PortHandler } from '../../../compile/index.ts';
import type { ConnectionFacts, Exchange, PortFacts } from '../../../http/index.ts';
import type { ErrorLog } from '../../../log/index.ts';
import type { Connections } from '../../../zone/index.ts';
import type { ConnectionWatch } from '../../../client/index.ts';
import { StreamHeadReader } from '../http2/request-head.ts';
import type { SilenceWatch } from '../request-body.ts';
import type { Heartbeat, HttpDate } from '../transport.ts';
import { type Head, HeadReader } from './head-reader.ts';
import type { RequestSource } from './request-source.ts';
import type { TlsServers } from './tls-servers.ts';

/** A connection that waits for a request. */
export interface IdleConnection {
  cut(): void;
}

/** A connection on which a client may send many requests before it sees a response that closes it. */
interface DrainingConnection {
  /** Takes no more requests; those that were sent are served. */
  drain(): void;
}

/** The configuration that serves new requests of a port. */
interface CurrentPort {
  readonly port: PortHandler;
  readonly reader: HeadReader;
  readonly http2Reader: StreamHeadReader;
}

/** Prepares a port for its requests. */
export function currentPort(port: PortHandler): CurrentPort {
  return { port, reader: new HeadReader(port), http2Reader: new StreamHeadReader(port) };
}

/** The values that the connections of one port share. */
export interface NodePort {
  /** The configuration for new requests; replaced by a reload. */
  current: CurrentPort;
  /** Every response closes its connection. */
  draining: boolean;
  readonly silence: SilenceWatch;
  readonly connections: Connections;
  readonly heartbeat: Heartbeat;
  /** The idle connections of all ports, the longest waiting first. */
  readonly idle: Set<IdleConnection>;
  /** The HTTP/2 connections of all ports. */
  readonly watch: ConnectionWatch;
  /** The HTTP/2 connections of this port, which must be told when it drains. */
  readonly sessions: Set<DrainingConnection>;
  readonly log: ErrorLog;
  readonly date: HttpDate;
  readonly tlsServers: TlsServers;
  /** Returns the next serial number of a connection. */
  readonly nextSerial: () => number;
}

/** The part of a finished request that its connection needs. */
export interface FinishedRequest {
  readonly x: Exchange;
  /** The connection is closed after this response. */
  readonly closes: boolean;
}

/** The part of a connection that the wire of a request uses. */
export interface ExchangeConnection {
  readonly facts: ConnectionFacts;
  readonly serial: number;
  readonly peerAddress: string;
  readonly peerPort: number;
  readonly port: PortFacts;
  /** True if written bytes are still buffered. */
  readonly isFull: boolean;
  write(...pieces: readonly (string | Uint8Array)[]): void;
  /**
   * Resolves when the buffer is empty or the connection is closed. A client that takes nothing for `timeoutMs` is
   * disconnected.
   */
  flushed(timeoutMs: number): Promise<void>;
  /** Called when the response is complete. */
  responded(wire: FinishedRequest): void;
  /** Detaches the socket for another protocol. Bytes that were already received are returned to the socket. */
  handOver(): Duplex;
  /** Closes the connection immediately. */
  cut(): void;
}

/** The values that a connection passes to the wire of a request. */
export interface ReceivedRequest {
  readonly head: Head;
  readonly source: RequestSource;
  readonly connection: ExchangeConnection;
  readonly open: NodePort;
}
