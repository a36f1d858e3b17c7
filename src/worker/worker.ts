import { setTimeout as delay } from 'node:timers/promises';
import type { PortHandler } from '../compile/index.ts';
import { Connections } from '../zone/index.ts';
import { Configuration, type WorkerFacts } from './configuration.ts';
import type { Shipment } from './messages.ts';
import { SharedResources } from './resources.ts';
import type { ThreadLog } from './thread-log.ts';
import {
  type AcceptorClient,
  Engines,
  type Heartbeat,
  type Opening,
  type OpenPort,
  type Transport,
} from './transport/index.ts';

/** What a reload changes: sockets that it opened already, and those that nobody configures any more. */
interface PortChange {
  readonly ports: readonly PortHandler[];
  readonly added: readonly OpenPort[];
}

/** The sockets of one worker. A reload touches only those that came or went. */
class OpenPorts {
  readonly #transport: Transport;
  readonly #open = new Map<string, OpenPort>();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The socket that is open at the address of a port. */
  of({ key }: PortHandler): OpenPort | undefined {
    return this.#open.get(key);
  }

  /** Opens what is not open yet, so that an address that cannot be bound refuses the configuration; all of it or nothing. */
  async prepare(ports: readonly PortHandler[]): Promise<PortChange> {
    const added: OpenPort[] = [];
    try {
      // A wildcard address may have to serve others of its port, so it comes first.
      for (const port of ports.toSorted(wildcardsFirst)) {
        const open = this.#open.get(port.key);
        if (!open) added.push(await this.#transport.open(port));
        else if (this.#transport.canKeep?.(open, port) === false) {
          throw new Error(`${port.key} needs another engine: restart the gateway`);
        }
      }
      return { ports, added };
    } catch (error) {
      await this.discard(added);
      throw error;
    }
  }

  async discard(added: PortChange['added']): Promise<void> {
    for (const port of added) port.stopAccepting();
    await Promise.all(added.map((port) => port.close()));
  }

  /** Serves the new configuration. Gives the sockets that it does not have: they accept no more, and close their connections. */
  switch({ ports, added }: PortChange): readonly OpenPort[] {
    for (const port of ports) this.#open.get(port.key)?.use(port);
    for (const port of added) this.#open.set(port.key, port);
    const keys = new Set(ports.map(({ key }) => key));
    const removed = [...this.#open.values()].filter(({ key }) => !keys.has(key));
    for (const port of removed) {
      this.#open.delete(port.key);
      drain(port);
    }
    return removed;
  }

  /** No new connections, and answers that close theirs. */
  drain(): void {
    for (const port of this.#open.values()) drain(port);
  }

  /** Cuts every connection. */
  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    await this.discard(open);
  }
}

function drain(port: OpenPort): void {
  port.stopAccepting();
  port.drain();
}

function wildcardsFirst(one: PortHandler, other: PortHandler): number {
  return Number(isWildcard(other)) - Number(isWildcard(one));
}

function isWildcard({ address }: PortHandler): boolean {
  return address.kind === 'inet' && (address.host === '0.0.0.0' || address.host === '::');
}

/** Kept-alive connections get this long to send one more request and be told to close. */
const LINGER_MS = 300;
const LINGER_TURNS = 10;
/** What resources may take to close when the worker stops. */
const CLOSE_MS = 2_000;

/** A configuration that is ready to take over. */
interface Prepared {
  readonly configuration: Configuration;
  readonly ports: PortChange;
}

/** What a worker is made of. */
interface ThreadFacts extends Omit<WorkerFacts, 'shared' | 'logListeners'> {
  readonly log: ThreadLog;
  readonly heartbeat: Heartbeat;
  /** Accepts connections of ports that this process may not bind. */
  readonly acceptor: AcceptorClient | undefined;
}

/** One worker thread: its sockets, the configuration they serve, the one that is about to take over, and those that leave. */
export class Worker {
  readonly #facts: WorkerFacts;
  readonly #log: ThreadLog;
  readonly #engines: Engines;
  readonly #ports: OpenPorts;
  /** Every configuration whose resources are open: the current one and those that still have requests. */
  readonly #alive = new Set<Configuration>();
  readonly #leaving = new Set<OpenPort>();
  readonly #hurry = new AbortController();
  #current: Configuration | undefined;
  #next: Prepared | undefined;
  #stopped: Promise<void> | undefined;

  constructor({ log, acceptor, heartbeat, ...thread }: ThreadFacts) {
    this.#log = log;
    this.#facts = { ...thread, log, logListeners: log.listeners, shared: new SharedResources() };
    const connections = new Connections(thread.metrics);
    connections.publish();
    this.#engines = new Engines({ log, connections, heartbeat, acceptor });
    this.#ports = new OpenPorts(this.#engines);
  }

  /** Opens a configuration and its new sockets beside the current one. Fails when anything of it cannot be opened. */
  async prepare(shipment: Shipment, openings: ReadonlyMap<string, Opening>): Promise<void> {
    this.#engines.use(openings);
    try {
      await this.#prepare(shipment);
    } finally {
      this.#engines.leaveOpenings();
    }
  }

  async #prepare(shipment: Shipment): Promise<void> {
    this.#facts.metrics.use(shipment.counters);
    const configuration = await Configuration.open(shipment, this.#facts);
    this.#alive.add(configuration);
    try {
      if (this.#stopped) throw new Error('the worker is stopping');
      this.#next = { configuration, ports: await this.#ports.prepare(this.#portsOf(configuration)) };
    } catch (error) {
      await this.#close(configuration);
      throw error;
    }
  }

  /** Serves the prepared configuration. */
  switch(): void {
    const next = this.#next;
    if (!next) return;
    this.#next = undefined;
    const before = this.#current;
    this.#current = next.configuration;
    const removed = this.#ports.switch(next.ports);
    this.#log.use(next.configuration.core.errorLogs);
    this.#engines.admission.use(next.configuration.connections);
    if (before) void this.#retire(before, removed);
  }

  async discard(): Promise<void> {
    const next = this.#next;
    this.#next = undefined;
    if (!next) return;
    await this.#ports.discard(next.ports.added);
    await this.#close(next.configuration);
  }

  reopen(): void {
    this.#log.reopen();
    for (const configuration of this.#alive) configuration.reopen();
    this.#log.write('notice', `worker ${this.#facts.workerId} reopened its logs`);
  }

  /** Ends all sockets and resources: at once, or when the last request has ended. A second, faster stop overtakes. */
  stop(graceful: boolean): Promise<void> {
    if (!graceful) this.#hurry.abort();
    this.#stopped ??= this.#drain();
    return this.#stopped;
  }

  /** Closes every connection at once. A thread that leaves with an open socket would end the whole process. */
  async cut(): Promise<void> {
    const leaving = [...this.#leaving, ...(this.#next?.ports.added ?? [])];
    this.#leaving.clear();
    await Promise.all([this.#ports.close(), this.#ports.discard(leaving)]);
  }

  /** No new connections, answers that close theirs, requests in flight to their end; only then what those need. */
  async #drain(): Promise<void> {
    this.#ports.drain();
    for (const configuration of this.#alive) configuration.retire();
    await this.#linger();
    await Promise.all([...this.#alive].map((configuration) => configuration.idle(this.#hurry.signal)));
    await this.cut();
    const closed = Promise.all([...this.#alive].map((configuration) => this.#close(configuration)));
    await Promise.race([closed, delay(CLOSE_MS)]);
  }

  /** A configuration that was replaced serves its requests to their end, and the connections of sockets that went with it. */
  async #retire(configuration: Configuration, removed: readonly OpenPort[]): Promise<void> {
    for (const port of removed) this.#leaving.add(port);
    configuration.retire();
    if (removed.length > 0) await this.#linger();
    await configuration.idle(this.#hurry.signal);
    for (const port of removed) if (this.#leaving.delete(port)) await port.close();
    await this.#close(configuration);
  }

  /** Those that this worker listens on: where several cannot, the first one does. */
  #portsOf({ ports, workers }: Configuration): Configuration['ports'] {
    const { workerId, log } = this.#facts;
    const alone = ports.filter((port) => !this.#engines.canShare(port, this.#ports.of(port)));
    const text = alone.flatMap(({ address, key }) => (address.kind === 'inet' ? key : [])).join(', ');
    if (workerId === 1 && workers > 1 && text !== '') {
      log.write('notice', `worker 1 alone serves ${text}: the node engine shares ports from Node 22.12 on`);
    }
    return workerId === 1 ? ports : ports.filter((port) => !alone.includes(port));
  }

  async #close(configuration: Configuration): Promise<void> {
    this.#alive.delete(configuration);
    await configuration.close();
  }

  /** In several turns: a busy thread's timer may fire before what was sent meanwhile has been read. */
  async #linger(): Promise<void> {
    const { signal } = this.#hurry;
    for (let turn = 0; turn < LINGER_TURNS && !signal.aborted; turn += 1) {
      await delay(LINGER_MS / LINGER_TURNS, undefined, { signal }).catch(() => undefined);
    }
  }
}
