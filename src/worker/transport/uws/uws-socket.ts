import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import type { PortHandler } from '../../../compile/index.ts';
import { admitEverybody } from '../admission.ts';
import { HeadScan } from '../head-scan.ts';
import type { OpenPort } from '../transport.ts';
import type { Uws } from './loader.ts';
import { type SharingApp, turnsOfLoop } from './sharing-app.ts';
import { openTlsApp, shownDigest } from './tls-app.ts';
import type { OpenSocket, UwsReceiver } from './uws-receiver.ts';
import type { SocketState } from './uws-wire.ts';
import { type Relayed, relaying } from './websocket-behavior.ts';

/** Where the connections of a port come from. */
export interface Entrance {
  /** Makes it pass connections to an App. */
  attach(app: TemplatedApp): Promise<void>;
  /** Resolves when all connections passed so far have arrived and no more will come. */
  detach(app: TemplatedApp): Promise<void>;
  /** Stops accepting; resolves when all accepted connections have arrived. Nothing to wait for: `undefined`. */
  stop(): Promise<void> | undefined;
}

/** The parts of the engine that a socket needs. */
interface SocketParts {
  readonly uws: Uws;
  readonly receiver: UwsReceiver;
  readonly newState: () => SocketState;
  /** Called when a WebSocket has closed. */
  readonly left: () => void;
}

/** An App of a port, and its open connections. */
class ServingApp {
  readonly app: TemplatedApp;
  readonly state: SocketState;
  readonly #open: OpenSocket;
  #connections = 0;
  #isLeaving = false;

  constructor(port: PortHandler, { uws, receiver, newState, left }: SocketParts) {
    this.state = newState();
    this.#open = { port: this.#servingBy(port) };
    const { filter, request, upgrade } = receiver.callbacks(this.#open);
    const route = (app: TemplatedApp): void => {
      app.any('/*', request);
      // The filter is not called when a WebSocket closes.
      app.ws<Relayed>('/*', {
        ...relaying(this.state.relays, () => {
          left();
          this.#count(-1);
        }),
        upgrade,
      });
    };
    const { key, tls } = port;
    if (tls) this.app = openTlsApp(uws, { key, tls }, route);
    else route((this.app = uws.App()));
    this.app.filter((res, opened) => {
      this.#count(Number(opened) > 0 ? 1 : -1);
      filter(res, opened);
    });
  }

  #servingBy(port: PortHandler): OpenSocket['port'] {
    return { port, scan: new HeadScan(port), socket: this.state };
  }

  use(port: PortHandler): void {
    this.#open.port = this.#servingBy(port);
  }

  /** From now on every response closes its connection; what the App has opened besides is closed with the last one. */
  leave(): void {
    this.state.draining = true;
    this.#isLeaving = true;
    this.#count(0);
  }

  get isEmpty(): boolean {
    return this.#connections === 0;
  }

  #count(change: number): void {
    this.#connections += change;
    if (this.#isLeaving && this.isEmpty) void this.state.spare.close();
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    for (const relay of this.state.relays) relay.goAway();
    this.state.closed = true;
    this.app.close();
    await this.state.spare.close();
  }
}

/**
 * A port of uWebSockets.js. Its Apps keep the certificates that they were opened with, so other certificates need
 * another App: the port's entrance then passes new connections to it, while the former one serves those that it has.
 */
export class UwsSocket implements OpenPort {
  readonly key: string;
  readonly #parts: SocketParts;
  #entrance: Entrance | undefined;
  #serving: ServingApp;
  #shown: string;
  readonly #former = new Set<ServingApp>();
  #next: { readonly port: PortHandler; readonly serving: ServingApp } | undefined;
  #stopped: { readonly arrived: Promise<void> | undefined } | undefined;

  constructor(port: PortHandler, parts: SocketParts) {
    this.key = port.key;
    this.#parts = parts;
    this.#serving = new ServingApp(port, parts);
    this.#shown = shownBy(port);
  }

  /** Opens the port at an entrance that `enter` makes for the App. */
  async open(enter: (app: TemplatedApp) => Promise<Entrance>): Promise<this> {
    this.#entrance = await enter(this.#serving.app);
    return this;
  }

  prepare(port: PortHandler): void {
    this.#next = undefined;
    if (shownBy(port) === this.#shown) return;
    this.#next = { port, serving: new ServingApp(port, this.#parts) };
  }

  drain(): void {
    for (const serving of this.#all()) serving.state.draining = true;
  }

  use(port: PortHandler): void {
    for (const serving of this.#all()) serving.use(port);
    const next = this.#next?.port === port ? this.#next.serving : undefined;
    this.#next = undefined;
    if (!next) return;
    const former = this.#serving;
    this.#serving = next;
    this.#shown = shownBy(port);
    for (const old of this.#former) if (old.isEmpty) this.#former.delete(old);
    this.#former.add(former);
    void this.#replace(former, next);
  }

  async #replace(former: ServingApp, next: ServingApp): Promise<void> {
    // The entrance keeps the order, so it is never without an App.
    const attached = this.#entrance?.attach(next.app);
    await this.#entrance?.detach(former.app);
    await attached;
    former.leave();
  }

  stopAccepting(): void {
    this.#stop();
  }

  #stop(): { readonly arrived: Promise<void> | undefined } {
    return (this.#stopped ??= { arrived: this.#entrance?.stop() });
  }

  async close(): Promise<void> {
    const { arrived } = this.#stop();
    const close = (): Promise<unknown> => Promise.all(this.#all().map((serving) => serving.close()));
    await close();
    if (!arrived) return;
    // Connections that had already been accepted may have arrived after the first close.
    await arrived;
    await close();
  }

  #all(): readonly ServingApp[] {
    return [this.#serving, ...this.#former];
  }
}

function shownBy({ tls }: PortHandler): string {
  return tls ? shownDigest(tls) : '';
}

/** Listens on a port with the App that serves it, or with one that passes connections on. */
function listen(
  uws: Uws,
  app: TemplatedApp,
  { address, key }: Pick<PortHandler, 'address' | 'key'>,
): Promise<() => void> {
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

/** Opens the entrance of a port that this thread listens on. */
export async function ownEntrance(uws: Uws, app: TemplatedApp, port: PortHandler): Promise<Entrance> {
  // Only ports with TLS ever need a second App; passing connections on costs them a turn of the event loop.
  const front = port.tls && (uws.SSLApp({}) as SharingApp);
  const close = await listen(uws, front ?? app, port);
  const entrance: Entrance = {
    async attach(child) {
      front?.addChildAppDescriptor((child as SharingApp).getDescriptor());
    },
    async detach(child) {
      front?.removeChildAppDescriptor((child as SharingApp).getDescriptor());
      await turnsOfLoop();
    },
    stop() {
      close();
      return front && turnsOfLoop();
    },
  };
  if (front) front.addChildAppDescriptor((app as SharingApp).getDescriptor());
  return entrance;
}
