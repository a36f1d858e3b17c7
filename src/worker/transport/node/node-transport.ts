import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { ConnectionWatch } from '../../../client/index.ts';
import type { PortHandler } from '../../../compile/index.ts';
import type { ErrorLog } from '../../../log/index.ts';
import { systemReason } from '../../../system/index.ts';
import type { Connections } from '../../../zone/index.ts';
import { type Admission, admitEverybody } from '../admission.ts';
import { SilenceWatch } from '../request-body.ts';
import {
  type EngineParts,
  type Failing,
  guarded,
  type Heartbeat,
  HttpDate,
  type Opening,
  type OpenPort,
  type Transport,
} from '../transport.ts';
import { NodeConnection } from './node-connection.ts';
import { currentPort, type IdleConnection, type NodePort } from './node-port.ts';
import { PrefaceReader } from './preface-reader.ts';
import { isNameless, plainAddress } from './socket-connection.ts';
import { TlsServers } from './tls-servers.ts';

/** Between two checks of an HTTP/2 connection. */
const WATCH_MS = 1_000;

/** Receives an accepted connection. */
type Accept = (socket: Socket) => void;

/** A port to open, with its opening if this process may not bind it. */
interface PortToOpen extends Pick<PortHandler, 'address' | 'key'> {
  readonly opening?: Opening | undefined;
}

/** Size of Node's read and write buffers of a socket. */
const BUFFER_BYTES = 65_536;
/** Backlog of a listening socket, as in uWebSockets.js. */
const BACKLOG = 512;
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Closes a listening socket; calls `closed` afterwards. */
type Close = (closed?: () => void) => void;

/** An address that is served by the socket of a wildcard address. */
interface SharedListener {
  readonly accept: Accept;
  /** Called when the wildcard's socket is closed: opens an own socket. */
  readonly listenAlone: () => void;
}

/**
 * The listening sockets of one worker. Before Node 22.12 an address cannot be bound beside the wildcard of its port. In
 * that case the wildcard's socket serves it, as in nginx.
 */
class Listeners {
  readonly #guests = new Map<string, Map<string, SharedListener>>();
  readonly #failed: (error: Error) => void;

  /** `failed` receives errors of accept(). */
  constructor(failed: (error: Error) => void) {
    this.#failed = failed;
  }

  /** Opens a port. Returns the function that closes it. */
  async open(port: PortToOpen, accept: Accept): Promise<() => void> {
    const { address } = port;
    if (address.kind === 'unix') return this.#listen(port, accept);
    const { host } = address;
    const portKey = `${host.includes(':') ? 'IPv6' : 'IPv4'} ${address.port}`;
    if (!WILDCARDS.has(host)) return this.#openBeside(port, accept, portKey);
    const guests = new Map<string, SharedListener>();
    const close = await this.#listen(port, (socket) => {
      const guest = guests.get(plainAddress(socket.localAddress));
      (guest?.accept ?? accept)(socket);
    });
    this.#guests.set(portKey, guests);
    return () => {
      this.#guests.delete(portKey);
      close(() => {
        for (const { listenAlone } of guests.values()) listenAlone();
      });
    };
  }

  async #openBeside(port: PortToOpen, accept: Accept, portKey: string): Promise<() => void> {
    const host = port.address.kind === 'inet' ? port.address.host : '';
    const guests = this.#guests.get(portKey);
    try {
      return await this.#listen(port, accept);
    } catch (error) {
      if (!guests) throw error;
    }
    let close = (): void => void guests.delete(host);
    const listenAlone = (): void => {
      void this.#listen(port, accept).then((closeOwn) => {
        close = closeOwn;
      }, this.#failed);
    };
    guests.set(host, { accept, listenAlone });
    return () => close();
  }

  async #listen(port: PortToOpen, accept: Accept): Promise<Close> {
    const places = placesOf(port);
    const closers = await Promise.all(places.map((place) => this.#listenAt(place, port, accept)));
    return (closed = () => undefined) => {
      let left = closers.length;
      const oneClosed = (): void => {
        left -= 1;
        if (left === 0) closed();
      };
      for (const close of closers) close(oneClosed);
    };
  }

  #listenAt(place: Place, port: PortToOpen, accept: Accept): Promise<Close> {
    const server = createServer({ allowHalfOpen: true, noDelay: true, highWaterMark: BUFFER_BYTES });
    server.on('connection', accept);
    return bind(server, place, port).then(() => {
      server.on('error', this.#failed);
      return (closed) => closeSoon(server, closed);
    });
  }
}

/**
 * Closes after the next poll, so that connections that the kernel has already accepted are served; closing immediately
 * would reset them.
 */
function closeSoon(server: Server, closed: () => void = () => undefined): void {
  const close = (): void => {
    server.close();
    closed();
  };
  setImmediate(() => setImmediate(close));
}

/** Where a server listens. */
type Place = ListenOptions & { fd?: number; reusePort?: boolean };

function placesOf({ address, opening }: PortToOpen): readonly Place[] {
  if (opening?.kind === 'descriptor') return opening.fds.map((fd) => ({ fd }));
  if (address.kind === 'unix') return [{ path: address.path }];
  const { host, port, isDual = false } = address;
  return [{ host, port, ipv6Only: !isDual, exclusive: true, reusePort: true }];
}

function bind(server: Server, place: Place, { address, key, opening }: PortToOpen): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new Error(`bind() to ${key} failed (${systemReason(error)})`)));
    server.listen({ ...place, backlog: BACKLOG }, () => {
      server.removeAllListeners('error');
      if (!opening) admitEverybody(address);
      resolve();
    });
  });
}

/**
 * The engine on Node's sockets. It parses HTTP itself, because Node's parser accepts bare line feeds only together with
 * all its other leniencies, drops headers that nginx keeps, and has no limit per line.
 */
export class NodeTransport implements Transport, Failing {
  readonly #silence = new SilenceWatch();
  readonly #date = new HttpDate();
  readonly #tlsServers = new TlsServers((message) => this.#log.write('error', message));
  readonly #listeners = new Listeners((error) =>
    this.#log.write('alert', `accept() failed: ${error.message}`),
  );
  readonly #log: ErrorLog;
  readonly #connections: Connections;
  readonly #admission: Admission;
  readonly #heartbeat: Heartbeat;
  readonly #idle = new Set<IdleConnection>();
  readonly #watch = new ConnectionWatch(WATCH_MS);
  #serial = 0;

  constructor({ log, connections, admission, heartbeat }: Omit<EngineParts, 'acceptor'>) {
    this.#log = log;
    this.#connections = connections;
    this.#admission = admission;
    this.#heartbeat = heartbeat;
  }

  async open(port: PortHandler, opening?: Opening): Promise<OpenPort> {
    const open: NodePort = {
      current: currentPort(port),
      draining: false,
      silence: this.#silence,
      date: this.#date,
      log: this.#log,
      connections: this.#connections,
      heartbeat: this.#heartbeat,
      idle: this.#idle,
      watch: this.#watch,
      sessions: new Set(),
      tlsServers: this.#tlsServers,
      nextSerial: () => ++this.#serial,
    };
    const sockets = new Set<Socket>();
    let isClosed = false;
    const accept = guarded(this, (socket: Socket) => {
      if (isClosed) socket.destroy();
      else this.#accept(socket, open, sockets);
    });
    const stopAccepting = await this.#listeners.open({ ...port, opening }, accept);
    return {
      key: port.key,
      address: port.address,
      drain: () => {
        open.draining = true;
        for (const session of open.sessions) session.drain();
      },
      use: (next) => {
        open.current = currentPort(next);
      },
      stopAccepting,
      close: async () => {
        isClosed = true;
        for (const socket of sockets) socket.destroy();
      },
    };
  }

  fail(error: unknown): void {
    this.#log.write('error', `a connection could not be accepted: ${String(error)}`);
  }

  /** Closes the connection that has been idle longest (nginx: ngx_drain_connections). */
  readonly #dropIdle = (): boolean => {
    const [oldest] = this.#idle;
    oldest?.cut();
    return oldest !== undefined;
  };

  #accept(socket: Socket, open: NodePort, sockets: Set<Socket>): void {
    if (isNameless(socket, open)) return void socket.destroy();
    if (!this.#admission.admit(this.#dropIdle)) return void socket.destroy();
    sockets.add(socket);
    socket.once('close', () => {
      this.#admission.left();
      sockets.delete(socket);
    });
    const { tls, proxyProtocol, http2 } = open.current.port;
    // eslint-disable-next-line no-new -- it lives as long as its socket
    if (tls || proxyProtocol || http2) new PrefaceReader(socket, open);
    // eslint-disable-next-line no-new -- so does this
    else new NodeConnection({ socket, open, facts: { proxyProtocol: undefined, tls: undefined } });
  }
}
