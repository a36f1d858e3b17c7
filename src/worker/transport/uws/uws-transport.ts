import type { TemplatedApp } from 'uWebSockets.js';
import type { PortHandler } from '../../../compile/index.ts';
import type { ErrorLog } from '../../../log/index.ts';
import type { Connections } from '../../../zone/index.ts';
import type { Admission } from '../admission.ts';
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
import { CommonPeer } from './common-peer.ts';
import { loadUws, type Uws } from './loader.ts';
import { UwsReceiver } from './uws-receiver.ts';
import { type Entrance, ownEntrance, UwsSocket } from './uws-socket.ts';
import { HeadLines, type SocketState } from './uws-wire.ts';
import { SpareResponse } from './websocket-opening.ts';

/** The uWebSockets.js transport. */
export class UwsTransport implements Transport {
  /** Loaded for the first socket, which fails to open if there is no binary. */
  #uws: Uws | undefined = undefined;
  readonly #log: ErrorLog;
  readonly #silence = new SilenceWatch();
  readonly #connections: Connections;
  readonly #admission: Admission;
  readonly #heartbeat: Heartbeat;
  readonly #receiver: UwsReceiver;
  readonly #acceptor: AcceptorClient | undefined;

  constructor(parts: EngineParts) {
    const { log, connections, admission, heartbeat, acceptor } = parts;
    this.#log = log;
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
    const socket = new UwsSocket(port, {
      uws,
      receiver: this.#receiver,
      newState: ({ address }) => this.#stateOf(uws, address),
      left: () => this.#admission.left(),
      log: this.#log,
    });
    return socket.open((app) => (opening ? this.#acceptedFor(port, app) : ownEntrance(uws, app, port)));
  }

  #stateOf(uws: Uws, { kind }: PortHandler['address']): SocketState {
    return {
      isUnix: kind === 'unix',
      draining: false,
      closed: false,
      silence: this.#silence,
      connections: this.#connections,
      heartbeat: this.#heartbeat,
      admission: this.#admission,
      peer: new CommonPeer(kind === 'unix'),
      relays: new Set(),
      headLines: new HeadLines(),
      date: new HttpDate(),
      spare: new SpareResponse(uws),
    };
  }

  /** Makes the acceptor pass connections of this port to this thread. */
  async #acceptedFor({ key }: PortHandler, first: TemplatedApp): Promise<Entrance> {
    const acceptor = this.#acceptor;
    if (!acceptor) throw new Error(`no thread accepts connections for ${key}`);
    let served = first;
    await acceptor.attach(key, first);
    return {
      attach(app) {
        served = app;
        return acceptor.attach(key, app);
      },
      detach: (app) => acceptor.detach(key, app),
      stop: () => acceptor.detach(key, served),
    };
  }
}
