import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import type { PortHandler } from '../../../compile/index.ts';
import type { OrderedPair } from '../../../contract/index.ts';
import type { ErrorLog } from '../../../log/index.ts';
import { admitEverybody } from '../admission.ts';
import { HeadScan } from '../head-scan.ts';
import type { OpenPort } from '../transport.ts';
import type { Uws } from './loader.ts';
import { type SharingApp, turnsOfLoop } from './sharing-app.ts';
import { openTlsApp, orderedPairs, shownDigest, type ShownTls, shownTls } from './tls-app.ts';
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
  readonly newState: (port: PortHandler) => SocketState;
  /** Called when a WebSocket has closed. */
  readonly left: () => void;
  readonly log: ErrorLog;
}

/** How often a port looks for certificates that were ordered. */
const ORDERS_MS = 200;
/** The least time between two Apps for ordered certificates. */
const LEAST_GAP_MS = 1_000;
/** The largest part of the time that may be spent on opening Apps for them. */
const BUSY_PART = 0.02;

/** An App of a port, and its open connections. */
class ServingApp {
  readonly app: TemplatedApp;
  readonly state: SocketState;
  readonly shown: ShownTls | undefined;
  readonly #strip: (() => void) | undefined;
  readonly #open: OpenSocket;
  #connections = 0;
  #isLeaving = false;

  constructor(port: PortHandler, { uws, receiver, newState, left }: SocketParts) {
    this.state = newState(port);
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
    this.shown = tls && shownTls(tls);
    if (this.shown)
      ({ app: this.app, strip: this.#strip } = openTlsApp(uws, { key, tls: this.shown }, route));
    else route((this.app = uws.App()));
    this.app.filter((res, opened) => {
      const isNew = Number(opened) > 0;
      if (isNew) this.state.peer.opened(res);
      this.#count(isNew ? 1 : -1);
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
    if (change < 0) this.state.peer.closed();
    if (!this.#isLeaving || !this.isEmpty) return;
    void this.state.spare.close();
    // The App is still closing the last connection.
    if (this.#strip) setImmediate(this.#strip);
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
  readonly address: PortHandler['address'];
  readonly #parts: SocketParts;
  #entrance: Entrance | undefined;
  #serving: ServingApp;
  #shown: string;
  readonly #former = new Set<ServingApp>();
  #next: { readonly port: PortHandler; readonly serving: ServingApp } | undefined;
  #stopped: { readonly arrived: Promise<void> | undefined } | undefined;
  #port: PortHandler;
  #ordered: readonly OrderedPair[] = [];
  #orders: NodeJS.Timeout | undefined;
  /** The revision of the ordered pairs that are shown. */
  #revision: number | undefined;
  /** Ordered pairs are not looked at before this time. */
  #notBeforeMs = 0;

  constructor(port: PortHandler, parts: SocketParts) {
    this.key = port.key;
    this.address = port.address;
    this.#parts = parts;
    this.#port = port;
    this.#serving = new ServingApp(port, parts);
    this.#shown = digestOf(this.#serving);
    this.#expectOrders();
  }

  /** Opens the port at an entrance that `enter` makes for the App. */
  async open(enter: (app: TemplatedApp) => Promise<Entrance>): Promise<this> {
    this.#entrance = await enter(this.#serving.app);
    return this;
  }

  prepare(port: PortHandler): void {
    this.#next = undefined;
    if ((port.tls ? shownDigest(shownTls(port.tls)) : '') === this.#shown) return;
    this.#next = { port, serving: new ServingApp(port, this.#parts) };
  }

  drain(): void {
    for (const serving of this.#all()) serving.state.draining = true;
  }

  use(port: PortHandler): void {
    this.#port = port;
    this.#expectOrders();
    for (const serving of this.#all()) serving.use(port);
    const next = this.#next?.port === port ? this.#next.serving : undefined;
    this.#next = undefined;
    if (next) this.#show(next);
  }

  #expectOrders(): void {
    const { tls } = this.#port;
    clearInterval(this.#orders);
    this.#ordered = tls ? orderedPairs(tls) : [];
    this.#revision = undefined;
    if (this.#ordered.length === 0) return;
    this.#orders = setInterval(() => this.#followOrders(), ORDERS_MS).unref();
  }

  /** Shows certificates that were ordered since the App was opened. */
  #followOrders(): void {
    const startMs = performance.now();
    const revision = this.#ordered[0]?.revision;
    if (startMs < this.#notBeforeMs || revision === this.#revision) return;
    this.#revision = revision;
    const known = this.#serving.shown?.pairs ?? [];
    if (this.#ordered.every(({ pair }, index) => pair?.chain === known[index]?.chain)) return;
    try {
      this.#show(new ServingApp(this.#port, this.#parts));
    } catch (error) {
      this.#parts.log.write('error', `${(error as Error).message}; the former certificates are still shown`);
    }
    // Many certificates in a row share an App.
    this.#notBeforeMs = performance.now() + Math.max(LEAST_GAP_MS, (performance.now() - startMs) / BUSY_PART);
  }

  #show(next: ServingApp): void {
    const former = this.#serving;
    this.#serving = next;
    this.#shown = digestOf(next);
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
    clearInterval(this.#orders);
    this.#stop();
  }

  #stop(): { readonly arrived: Promise<void> | undefined } {
    return (this.#stopped ??= { arrived: this.#entrance?.stop() });
  }

  async close(): Promise<void> {
    clearInterval(this.#orders);
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

function digestOf({ shown }: ServingApp): string {
  return shown ? shownDigest(shown) : '';
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
