import type { PortHandler } from '../../../compile/index.ts';
import type { ErrorLog } from '../../../log/index.ts';
import type { Connections } from '../../../zone/index.ts';
import type { Heartbeat } from '../heartbeat.ts';
import type { SilenceWatch } from '../silence-watch.ts';
import type { HeadReader } from './head-reader.ts';
import type { HttpDate } from './http-date.ts';
import type { TlsServers } from './tls-servers.ts';

/** A connection on which nothing goes on. */
export interface Idle {
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
  readonly idle: Set<Idle>;
  readonly log: ErrorLog;
  readonly date: HttpDate;
  readonly tlsServers: TlsServers;
  /** Serial numbers of connections. */
  readonly nextSerial: () => number;
}
