import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import type { PortHandler } from '../../../compile/index.ts';
import type { Connections } from '../../../zone/index.ts';
import { type Admission, admitEverybody } from '../admission.ts';
import { HeadScan } from '../head-scan.ts';
import { SilenceWatch } from '../request-body.ts';
import {
  type EngineParts,
  type Heartbeat,
  HttpDate,
  type Opening,
  type OpenPort,
  type Transport,
} from '../transport.ts';
import type { AcceptorClient } from './acceptor.ts';
import { loadUws, type Uws } from './loader.ts';
import { type OpenSocket, UwsReceiver } from './uws-receiver.ts';
import { HeadLines, type SocketState } from './uws-wire.ts';
import { type Relayed, relaying } from './websocket-behavior.ts';
import { SpareResponse } from './websocket-opening.ts';

/** The uWebSockets.js transport. */
export class UwsTransport implements Transport {
  /** Loaded for the first socket, which fails to open if there is no binary. */
  #uws: Uws | undefined = undefined;
  readonly #silence = new SilenceWatch();
  readonly #connections: Connections;
  readonly #admission: Admission;
  readonly #heartbeat: Heartbeat;
  readonly #receiver: UwsReceiver;
  readonly #acceptor: AcceptorClient | undefined;

  constructor(parts: EngineParts) {
    const { connections, admission, heartbeat, acceptor } = parts;
    this.#connections = connections;
    this.#admission = admission;
    this.#heartbeat = heartbeat;
    this.#acceptor = acceptor;
    this.#receiver = new UwsReceiver(parts);
  }

  async open(port: PortHandler, opening?: Opening): Promise<OpenPort> {
    const uws = (this.#uws ??= loadUws());
    // Removes the header with the name of uWebSockets.js from responses; there is no public way.
    (uws as Uws & { _cfg?: (option: string) => void })._cfg?.('silent');
    const app = uws.App();
    const socket = this.#stateOf(uws);
    const open: OpenSocket = { port: { port, scan: new HeadScan(port), socket } };
    const { filter, request, upgrade } = this.#receiver.callbacks(open);
    app.filter(filter);
    app.any('/*', request);
    // The filter is not called when a WebSocket closes.
    app.ws<Relayed>('/*', { ...relaying(socket.relays, () => this.#admission.left()), upgrade });
    const stop = await (opening ? this.#takePart(app, port) : bind(uws, app, port));
    return {
      key: port.key,
      drain: () => {
        socket.draining = true;
      },
      use: (next) => {
        open.port = { port: next, scan: new HeadScan(next), socket };
      },
      ...endOf(app, stop, socket),
    };
  }

  #stateOf(uws: Uws): SocketState {
    return {
      draining: false,
      closed: false,
      silence: this.#silence,
      connections: this.#connections,
      heartbeat: this.#heartbeat,
      admission: this.#admission,
      relays: new Set(),
      headLines: new HeadLines(),
      date: new HttpDate(),
      spare: new SpareResponse(uws),
    };
  }

  /** Makes the acceptor send connections of this port to this thread. Returns the function that ends this. */
  async #takePart(app: TemplatedApp, { key }: PortHandler): Promise<() => Promise<void>> {
    const acceptor = this.#acceptor;
    if (!acceptor) throw new Error(`no thread accepts connections for ${key}`);
    await acceptor.attach(key, app);
    return () => acceptor.detach(key, app);
  }
}

function endOf(
  app: TemplatedApp,
  stop: () => void | Promise<void>,
  socket: SocketState,
): Pick<OpenPort, 'stopAccepting' | 'close'> {
  let stopped: { readonly arrived: void | Promise<void> } | undefined;
  const stopAccepting = (): { readonly arrived: void | Promise<void> } => (stopped ??= { arrived: stop() });
  return {
    stopAccepting,
    async close() {
      const { arrived } = stopAccepting();
      for (const relay of socket.relays) relay.goAway();
      socket.closed = true;
      app.close();
      await socket.spare.close();
      if (!arrived) return;
      // Connections that the acceptor had already passed on may have arrived after the first close.
      await arrived;
      app.close();
    },
  };
}

/** Listens on a port. Returns the function that closes it. */
function bind(uws: Uws, app: TemplatedApp, { address, key }: PortHandler): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const opened = (socket: us_listen_socket | false): void => {
      if (!socket) return reject(new Error(`bind() to ${key} failed`));
      admitEverybody(address);
      resolve(() => uws.us_listen_socket_close(socket));
    };
    if (address.kind === 'unix') app.listen_unix(opened, address.path);
    else app.listen(address.host, address.port, opened);
  });
}
