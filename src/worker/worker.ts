import { setTimeout as delay } from 'node:timers/promises';
import type { PortHandler } from '../compile/index.ts';
import { type HeldLogs, tellOperator } from '../log/index.ts';
import { UnsentBytes } from '../system/index.ts';
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

/** The ports of a new configuration, and the sockets that have been opened for it. */
interface PortChange {
  readonly ports: readonly PortHandler[];
  readonly added: readonly OpenPort[];
}

/** The listening sockets of one worker. A reload only opens new ones and closes removed ones. */
class OpenPorts {
  readonly #transport: Transport;
  readonly #open = new Map<string, OpenPort>();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns the open socket at the address of a port. */
  of({ key }: PortHandler): OpenPort | undefined {
    return this.#open.get(key);
  }

  /**
   * Opens the sockets that are not open yet: all or none. An address that cannot be bound refuses the configuration.
   */
  async prepare(ports: readonly PortHandler[]): Promise<PortChange> {
    const added: OpenPort[] = [];
    try {
      // Wildcard addresses come first, since they may have to serve other addresses of their port.
      for (const port of ports.toSorted(wildcardsFirst)) {
        const open = this.#open.get(port.key);
        if (!open) added.push(await this.#transport.open(port));
        else if (this.#transport.canKeep?.(open, port) === false) {
          throw new Error(`${port.key} needs another engine: restart the gateway, or "gw upgrade"`);
        } else open.prepare?.(port);
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

  /**
   * Serves the new configuration. Returns the sockets that it does not have: they accept no more connections and close
   * the existing ones.
   */
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

  get all(): readonly OpenPort[] {
    return [...this.#open.values()];
  }

  /** Stops accepting connections; each response closes its connection. */
  drain(): void {
    for (const port of this.all) drain(port);
  }

  /** Closes every connection immediately. */
  async close(): Promise<void> {
    const open = this.all;
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

/**
 * Time for clients to send one more request on a kept-alive connection and learn from the response that it is closed.
 */
const LINGER_MS = 300;
/** The same after an upgrade, which nobody waits for: also for first requests of slow clients. */
const LINGER_REPLACED_MS = 3_000;
const LINGER_TURNS = 10;
/** Time limit for closing resources when the worker stops. */
const CLOSE_MS = 2_000;

/** A configuration that is ready to be switched to. */
interface PreparedConfiguration {
  readonly configuration: Configuration;
  readonly ports: PortChange;
}

/** The parts of a worker. */
interface ThreadFacts extends Omit<WorkerFacts, 'shared' | 'logListeners'> {
  readonly log: ThreadLog;
  readonly heartbeat: Heartbeat;
  /** Accepts connections for ports that this process may not bind. */
  readonly acceptor: AcceptorClient | undefined;
}

/**
 * One worker thread: its sockets, the current configuration, a prepared one, and retired ones that still serve
 * requests.
 */
export class Worker {
  readonly #facts: WorkerFacts;
  readonly #log: ThreadLog;
  readonly #engines: Engines;
  readonly #ports: OpenPorts;
  /** Every configuration with open resources: the current one and those that still have requests. */
  readonly #alive = new Set<Configuration>();
  /** Configurations that are being closed: their logs may still have lines to write. */
  readonly #closing = new Set<Promise<void>>();
  readonly #leaving = new Set<OpenPort>();
  readonly #hurry = new AbortController();
  readonly #unsent = new UnsentBytes();
  #current: Configuration | undefined;
  /** The logs of the current configuration. */
  #logs: HeldLogs = {};
  #next: PreparedConfiguration | undefined;
  #stopped: Promise<void> | undefined;

  constructor({ log, acceptor, heartbeat, ...thread }: ThreadFacts) {
    this.#log = log;
    this.#facts = { ...thread, log, logListeners: log.listeners, shared: new SharedResources() };
    const connections = new Connections(thread.metrics);
    connections.publish();
    this.#engines = new Engines({ log, connections, heartbeat, acceptor });
    this.#ports = new OpenPorts(this.#engines);
  }

  /** Opens a configuration and its new sockets beside the current one. Rejects if a part of it cannot be opened. */
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
    this.#facts.logOpener.use(shipment.logs);
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

  /** Switches to the prepared configuration. Rotated logs are reopened, as in nginx. */
  switch(): void {
    const next = this.#next;
    if (!next) return;
    this.#next = undefined;
    const before = this.#current;
    this.#current = next.configuration;
    this.#logs = next.configuration.logs;
    next.configuration.serve();
    const removed = this.#ports.switch(next.ports);
    this.#log.use(next.configuration.core.errorLogs);
    this.#log.reopen();
    if (before) next.configuration.reopen();
    this.#engines.admission.use(next.configuration.connections);
    if (this.#facts.isFirst) this.#tellLosses(next.configuration);
    if (before) void this.#retire(before, removed);
  }

  /**
   * Logs lost data, and reports it to the operator directly if the log leaves out warnings. A configuration that names its
   * engine, `auto` too, has chosen.
   */
  #tellLosses({ ports, core }: Configuration): void {
    const losses = core.httpEngine === undefined ? this.#engines.newLosses(ports) : undefined;
    if (losses === undefined) return;
    this.#log.write('warn', losses);
    if (!this.#log.takes('warn')) tellOperator(losses, 'warn');
  }

  async discard(): Promise<void> {
    const next = this.#next;
    this.#next = undefined;
    this.#facts.logOpener.use(this.#logs);
    if (!next) return;
    await this.#ports.discard(next.ports.added);
    await this.#close(next.configuration);
  }

  /** Reopens logs that were rotated. */
  reopen(logs: HeldLogs): void {
    this.#logs = logs;
    this.#facts.logOpener.use(logs);
    this.#log.reopen();
    for (const configuration of this.#alive) configuration.reopen();
    this.#log.write('notice', `worker ${this.#facts.workerId} reopened its logs`);
  }

  /**
   * Closes all sockets and resources: immediately, or when the last request has finished. An immediate stop overrides a
   * graceful one.
   */
  stop({ graceful, isReplaced = false }: { graceful: boolean; isReplaced?: boolean }): Promise<void> {
    if (!graceful) this.#hurry.abort();
    this.#stopped ??= this.#drain(isReplaced ? LINGER_REPLACED_MS : LINGER_MS);
    return this.#stopped;
  }

  /** True if another worker can open the ports of this one while they are open here. */
  get canStay(): boolean {
    return (
      this.#current !== undefined && this.#stopped === undefined && this.#ownPorts(this.#current).length === 0
    );
  }

  /** Closes every connection immediately. A thread that exits with an open socket would end the process. */
  async cut(): Promise<void> {
    const leaving = [...this.#leaving, ...(this.#next?.ports.added ?? [])];
    this.#leaving.clear();
    await Promise.all([this.#ports.close(), this.#ports.discard(leaving)]);
  }

  /**
   * Stops accepting connections, lets requests finish with responses that close their connections, and then closes the
   * resources.
   */
  async #drain(lingerMs: number): Promise<void> {
    this.#ports.drain();
    for (const configuration of this.#alive) configuration.retire();
    await this.#linger(lingerMs);
    await this.#finish([...this.#alive], this.#ports.all);
    await this.cut();
    await Promise.all([...this.#alive].map((configuration) => configuration.left()));
    for (const configuration of this.#alive) void this.#close(configuration);
    await Promise.race([Promise.all(this.#closing), delay(CLOSE_MS)]);
  }

  /** Retires a replaced configuration: its requests finish, and connections of removed sockets are closed. */
  async #retire(configuration: Configuration, removed: readonly OpenPort[]): Promise<void> {
    for (const port of removed) this.#leaving.add(port);
    configuration.retire();
    if (removed.length > 0) await this.#linger(LINGER_MS);
    await this.#finish([configuration], removed);
    for (const port of removed) if (this.#leaving.delete(port)) await port.close();
    await this.#close(configuration);
    // nginx's line when a process of the old configuration has ended; scripts wait for it after a reload.
    this.#log.write('notice', `worker process ${this.#facts.workerId} exited with code 0`);
  }

  /** Returns the ports that this worker listens on. Ports that several workers cannot share belong to the first one. */
  #portsOf(configuration: Configuration): Configuration['ports'] {
    const { workerId, isFirst, log } = this.#facts;
    const { ports, workers } = configuration;
    const alone = this.#ownPorts(configuration);
    const text = alone.flatMap(({ address, key }) => (address.kind === 'inet' ? key : [])).join(', ');
    if (isFirst && workers > 1 && text !== '') {
      log.write('notice', `worker ${workerId} alone serves ${text} until a restart`);
    }
    return isFirst ? ports : ports.filter((port) => !alone.includes(port));
  }

  /** Returns the ports that only one worker can serve. */
  #ownPorts({ ports }: Configuration): Configuration['ports'] {
    return ports.filter((port) => !this.#engines.canShare(port, this.#ports.of(port)));
  }

  async #close(configuration: Configuration): Promise<void> {
    this.#alive.delete(configuration);
    const closing = configuration.close();
    this.#closing.add(closing);
    await closing;
    this.#closing.delete(closing);
  }

  /**
   * Waits until the requests of configurations have ended, and the clients of ports have been sent all: engines take the
   * end of a response before the system has room for it.
   */
  async #finish(configurations: readonly Configuration[], ports: readonly OpenPort[]): Promise<void> {
    const { signal } = this.#hurry;
    const sinceMs = performance.now();
    const endMs = sinceMs + Math.max(...configurations.map(({ core }) => core.shutdownTimeoutMs));
    const hasUnsent = this.#unsent.at(
      ports.map(({ address }) => address),
      signal,
    );
    const isBusy = (): boolean => configurations.some(({ inFlight }) => inFlight > 0);
    do await Promise.all(configurations.map((configuration) => configuration.idle(sinceMs, signal)));
    while (!signal.aborted && performance.now() < endMs && ((await hasUnsent()) || isBusy()));
  }

  /**
   * Waits in several steps, because in a busy thread one timer may fire before data that arrived meanwhile has been
   * read.
   */
  async #linger(lingerMs: number): Promise<void> {
    const { signal } = this.#hurry;
    for (let turn = 0; turn < LINGER_TURNS && !signal.aborted; turn += 1) {
      await delay(lingerMs / LINGER_TURNS, undefined, { signal }).catch(() => undefined);
    }
  }
}
