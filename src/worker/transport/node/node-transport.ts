import type { Socket } from 'node:net';
import type { PortHandler } from '../../../compile/index.ts';
import type { ErrorLog } from '../../../log/index.ts';
import type { Connections } from '../../../zone/index.ts';
import type { Admission } from '../admission.ts';
import { guarded } from '../guarded.ts';
import type { Failing } from '../guarded.ts';
import type { Heartbeat } from '../heartbeat.ts';
import { SilenceWatch } from '../silence-watch.ts';
import type { EngineParts, Opening, OpenPort, Transport } from '../transport.ts';
import { Doorway } from './doorway.ts';
import { HeadReader } from './head-reader.ts';
import { HttpDate } from './http-date.ts';
import { Listeners } from './listeners.ts';
import { NodeConnection } from './node-connection.ts';
import type { Idle, NodePort } from './node-port.ts';
import { isNameless } from './socket-line.ts';
import { TlsServers } from './tls-servers.ts';

/**
 * The engine on Node's own sockets. It reads HTTP itself: Node's parser takes bare line feeds only together with all its
 * other leniencies, drops what nginx keeps, and knows no limits per line.
 */
export class NodeTransport implements Transport, Failing {
  private readonly silence = new SilenceWatch();
  private readonly date = new HttpDate();
  private readonly tlsServers = new TlsServers();
  private readonly listeners = new Listeners((error) =>
    this.log.write('alert', `accept() failed: ${error.message}`),
  );
  private readonly log: ErrorLog;
  private readonly connections: Connections;
  private readonly admission: Admission;
  private readonly heartbeat: Heartbeat;
  private readonly idle = new Set<Idle>();
  private serial = 0;

  constructor({ log, connections, admission, heartbeat }: Omit<EngineParts, 'acceptor'>) {
    this.log = log;
    this.connections = connections;
    this.admission = admission;
    this.heartbeat = heartbeat;
  }

  async open(port: PortHandler, opening?: Opening): Promise<OpenPort> {
    const { silence, date, log, connections, idle, heartbeat } = this;
    const open: NodePort = {
      current: { port, reader: new HeadReader(port) },
      draining: false,
      silence,
      date,
      log,
      connections,
      heartbeat,
      idle,
      tlsServers: this.tlsServers,
      nextSerial: () => ++this.serial,
    };
    const sockets = new Set<Socket>();
    let isClosed = false;
    const accept = guarded(this, (socket: Socket) => {
      if (isClosed) socket.destroy();
      else this.accept(socket, open, sockets);
    });
    const stopAccepting = await this.listeners.open({ ...port, opening }, accept);
    return {
      key: port.key,
      drain: () => {
        open.draining = true;
      },
      use: (next) => {
        open.current = { port: next, reader: new HeadReader(next) };
      },
      stopAccepting,
      close: async () => {
        isClosed = true;
        for (const socket of sockets) socket.destroy();
      },
    };
  }

  fail(error: unknown): void {
    this.log.write('error', `a connection could not be taken: ${String(error)}`);
  }

  /** Closes what has waited for its next request the longest (nginx: ngx_drain_connections). */
  private readonly dropIdle = (): boolean => {
    const [oldest] = this.idle;
    oldest?.cut();
    return oldest !== undefined;
  };

  private accept(socket: Socket, open: NodePort, sockets: Set<Socket>): void {
    if (isNameless(socket, open)) return void socket.destroy();
    if (!this.admission.admit(this.dropIdle)) return void socket.destroy();
    sockets.add(socket);
    socket.once('close', () => {
      this.admission.left();
      sockets.delete(socket);
    });
    const { tls, proxyProtocol } = open.current.port;
    // eslint-disable-next-line no-new -- it lives as long as its socket
    if (tls || proxyProtocol) new Doorway(socket, open);
    // eslint-disable-next-line no-new -- so does this
    else new NodeConnection({ socket, open, facts: { proxyProtocol: undefined, tls: undefined } });
  }
}
