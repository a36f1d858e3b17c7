import { once } from 'node:events';
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import type { NamedAddress } from '../../../contract/index.ts';
import { descriptorOfLocalPort } from '../../../system/index.ts';
import { admitEverybody } from '../admission.ts';
import { loadUws, type Uws } from './loader.ts';
import { type SharingApp, turnsOfLoop } from './sharing-app.ts';

/** Messages from worker to acceptor, which answers with their `serial`. */
interface AcceptorQuestion {
  readonly type: 'attach' | 'detach';
  readonly serial: number;
  readonly key: string;
  readonly descriptor: number;
}

/** Messages from master to acceptor. */
export type ToAcceptor =
  | { readonly type: 'connect'; readonly workerId: number; readonly port: MessagePort }
  /** The worker does not respond: it gets no connections until it is replaced. */
  | { readonly type: 'hold'; readonly workerId: number }
  | { readonly type: 'close'; readonly key: string }
  | { readonly type: 'end' };

/** Messages from acceptor to master. */
export type FromAcceptor =
  /** The last message: the keys that could not be bound. */
  | { readonly type: 'open'; readonly refused: readonly string[] }
  /** The only message: uWebSockets.js cannot be loaded. */
  | { readonly type: 'unavailable' }
  /** Asks for an inherited socket of the address with this index, to replace the one with this descriptor. */
  | { readonly type: 'adopt'; readonly index: number; readonly nth: number; readonly fd: number };

/** An address of the acceptor, with the number of its sockets that were opened by the program before this one. */
export interface AcceptedAddress extends NamedAddress {
  /** The Apps of the workers are of the same kind. */
  readonly tls: boolean;
  readonly inherited: number;
}

/** The start data of the thread. */
export interface AcceptorStart {
  readonly addresses: readonly AcceptedAddress[];
  /** The master sets it when an inherited socket has its descriptor. */
  readonly cell: Int32Array<SharedArrayBuffer>;
}

interface Socket {
  readonly app: SharingApp;
  readonly listening: readonly us_listen_socket[];
  /** The descriptors of the workers' Apps, by worker id. A worker has two while it changes to another App. */
  readonly children: Map<number, ReadonlySet<number>>;
}

/** Sleeping time of the thread while a port has no worker. */
const SLEEP_MS = 5;

/**
 * Runs the thread that accepts connections on ports that only root can bind, and distributes them to the workers in
 * turn. It binds the ports before the process gives up root. While a port has no worker, the thread is blocked so that
 * clients wait in the backlog: an App without children would close their connections.
 */
export async function acceptConnections(
  master: MessagePort,
  { addresses, cell }: AcceptorStart,
): Promise<void> {
  const acceptor = new Acceptor(master, cell);
  master.postMessage(acceptor.open(addresses));
  master.on('message', (message: ToAcceptor) => acceptor.obey(message));
  acceptor.waitForWorkers();
  await once(master, 'close');
}

class Acceptor {
  readonly #master: MessagePort;
  readonly #cell: AcceptorStart['cell'];
  readonly #sockets = new Map<string, Socket>();
  readonly #workers = new Map<number, MessagePort>();
  readonly #held = new Set<number>();

  constructor(master: MessagePort, cell: AcceptorStart['cell']) {
    this.#master = master;
    this.#cell = cell;
  }

  open(addresses: readonly AcceptedAddress[]): FromAcceptor {
    let uws: Uws;
    try {
      uws = loadUws();
    } catch {
      // The workers will fail to load it as well, and log the reason.
      return { type: 'unavailable' };
    }
    const refused = addresses.filter((wanted, index) => {
      const app = (wanted.tls ? uws.SSLApp({}) : uws.App()) as SharingApp;
      return !(wanted.inherited > 0 ? this.#adopt(app, wanted, index) : this.#listen(app, wanted));
    });
    return { type: 'open', refused: refused.map(({ key }) => key) };
  }

  /**
   * Listens on inherited sockets. uWebSockets.js opens its sockets itself. But libuv adds a descriptor to the poll set
   * only in the next turn of the event loop, so an inherited socket can take the descriptor of one that was just opened
   * for this purpose, where nobody connects.
   */
  #adopt(app: SharingApp, { key, inherited }: AcceptedAddress, index: number): boolean {
    const listening: us_listen_socket[] = [];
    for (let nth = 0; nth < inherited; nth += 1) {
      app.listen('127.0.0.1', 0, (socket) => {
        if (socket) listening.push(socket);
      });
      const opened = listening[nth];
      const fd = opened && descriptorOfLocalPort(loadUws().us_socket_local_port(opened));
      if (fd === undefined) return false;
      this.#master.postMessage({ type: 'adopt', index, nth, fd } satisfies FromAcceptor);
      // If the master fails, its process ends.
      Atomics.wait(this.#cell, 0, 0);
      Atomics.store(this.#cell, 0, 0);
    }
    this.#sockets.set(key, { app, listening, children: new Map() });
    return true;
  }

  obey(message: ToAcceptor): void {
    this.#take(message);
    this.waitForWorkers();
  }

  /** Blocks while a port has no worker. Only messages are processed. */
  waitForWorkers(): void {
    const sleeper = new Int32Array(new SharedArrayBuffer(4));
    while ([...this.#sockets.values()].some(({ children }) => this.#active(children).length === 0)) {
      const fromMaster = receiveMessageOnPort(this.#master);
      if (fromMaster) this.#take(fromMaster.message as ToAcceptor);
      let isIdle = !fromMaster;
      for (const [workerId, port] of this.#workers) {
        const question = receiveMessageOnPort(port);
        if (question) this.#serve(workerId, question.message as AcceptorQuestion);
        isIdle &&= !question;
      }
      if (isIdle) Atomics.wait(sleeper, 0, 0, SLEEP_MS);
    }
  }

  #listen(app: SharingApp, { key, address }: NamedAddress): boolean {
    let isOpen = false;
    const opened = (listening: us_listen_socket | false): void => {
      if (!listening) return;
      admitEverybody(address);
      isOpen = true;
      this.#sockets.set(key, { app, listening: [listening], children: new Map() });
    };
    if (address.kind === 'unix') app.listen_unix(opened, address.path);
    else app.listen(address.host, address.port, opened);
    return isOpen;
  }

  #take(message: ToAcceptor): void {
    switch (message.type) {
      case 'connect':
        return this.#connect(message.workerId, message.port);
      case 'hold':
        if (this.#held.has(message.workerId)) return;
        for (const { app, children } of this.#sockets.values()) {
          for (const descriptor of children.get(message.workerId) ?? [])
            app.removeChildAppDescriptor(descriptor);
          children.delete(message.workerId);
        }
        return void this.#held.add(message.workerId);
      case 'close':
        return this.#close(message.key);
      case 'end':
        for (const key of this.#sockets.keys()) this.#close(key);
        for (const port of this.#workers.values()) port.close();
        this.#master.close();
    }
  }

  #close(key: string): void {
    const socket = this.#sockets.get(key);
    if (!socket) return;
    for (const listening of socket.listening) loadUws().us_listen_socket_close(listening);
    this.#sockets.delete(key);
  }

  #connect(workerId: number, port: MessagePort): void {
    this.#held.delete(workerId);
    this.#workers.set(workerId, port);
    port.on('message', (question: AcceptorQuestion) => {
      this.#serve(workerId, question);
      this.waitForWorkers();
    });
    port.once('close', () => {
      if (this.#workers.get(workerId) === port) this.#workers.delete(workerId);
    });
  }

  #serve(workerId: number, { type, key, descriptor, serial }: AcceptorQuestion): void {
    const socket = this.#sockets.get(key);
    const known = socket?.children.get(workerId) ?? new Set();
    if (socket && type === 'attach') {
      socket.children.set(workerId, new Set([...known, descriptor]));
      socket.app.addChildAppDescriptor(descriptor);
    } else if (socket && known.has(descriptor)) {
      const left = [...known].filter((one) => one !== descriptor);
      if (left.length > 0) socket.children.set(workerId, new Set(left));
      else socket.children.delete(workerId);
      socket.app.removeChildAppDescriptor(descriptor);
    }
    this.#workers.get(workerId)?.postMessage(serial);
  }

  #active(children: Socket['children']): readonly number[] {
    return [...children.keys()].filter((workerId) => !this.#held.has(workerId));
  }
}

/** The worker's side of the acceptor: registers its Apps for the acceptor's ports. */
export class AcceptorClient {
  readonly #port: MessagePort;
  readonly #waiting = new Map<number, () => void>();
  #serial = 0;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (serial: number) => {
      this.#waiting.get(serial)?.();
      this.#waiting.delete(serial);
    });
    port.unref();
  }

  attach(key: string, app: TemplatedApp): Promise<void> {
    return this.#ask('attach', key, app);
  }

  /** Resolves when all connections passed so far have arrived and no more will come. */
  async detach(key: string, app: TemplatedApp): Promise<void> {
    await this.#ask('detach', key, app);
    await turnsOfLoop();
  }

  #ask(type: AcceptorQuestion['type'], key: string, app: TemplatedApp): Promise<void> {
    const serial = ++this.#serial;
    const descriptor = (app as SharingApp).getDescriptor();
    this.#port.postMessage({ type, key, descriptor, serial } satisfies AcceptorQuestion);
    return new Promise((resolve) => {
      this.#waiting.set(serial, resolve);
    });
  }
}
