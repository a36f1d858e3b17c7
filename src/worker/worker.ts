import type { ErrorLog } from '../log/index.ts';
import { Configuration } from './configuration.ts';
import type { WorkerFacts } from './configuration.ts';
import type { Shipment } from './messages.ts';
import { SharedResources } from './resources.ts';
import { UwsTransport } from './transport/index.ts';
import type { OpenPort } from './transport/index.ts';

/** Kept-alive connections get this long to send one more request and be told to close. */
const LINGER_MS = 300;

/** One worker thread: its sockets, the configuration they serve, and the one that is about to take over. */
export class Worker {
  readonly #facts: WorkerFacts;
  readonly #transport = new UwsTransport();
  readonly #ports = new Map<string, OpenPort>();
  #current: Configuration | undefined;
  #next: Configuration | undefined;
  #retirements: Promise<void>[] = [];

  constructor(workerId: number, log: ErrorLog) {
    this.#facts = { workerId, log, shared: new SharedResources() };
  }

  /** Opens a configuration beside the current one. */
  async prepare(shipment: Shipment): Promise<void> {
    this.#next = await Configuration.open(shipment, this.#facts);
  }

  /** Serves the prepared configuration: only sockets that came or went are touched. */
  async switch(): Promise<number> {
    const next = this.#next;
    if (!next) throw new Error('no configuration is prepared');
    const wanted = next.ports.filter(({ address }) => address.kind === 'inet' || this.#facts.workerId === 1);
    for (const port of wanted) {
      const open = this.#ports.get(port.key);
      if (open) open.use(port);
      else this.#ports.set(port.key, await this.#transport.open(port));
    }
    for (const [key, open] of this.#ports)
      if (!wanted.some((port) => port.key === key)) this.#closePort(key, open);
    this.#next = undefined;
    const before = this.#current;
    this.#current = next;
    if (before) this.#retirements.push(before.retire(before.shutdownTimeoutMs));
    return next.generation;
  }

  async discard(): Promise<void> {
    const next = this.#next;
    this.#next = undefined;
    await next?.close();
  }

  reopen(): void {
    this.#current?.reopen();
  }

  /** No new connections, answers that close theirs, then the end of all sockets and resources. */
  async stop(graceful: boolean): Promise<void> {
    await this.discard();
    const current = this.#current;
    for (const port of this.#ports.values()) {
      port.stopAccepting();
      port.drain();
    }
    if (graceful && current) {
      await Promise.all([current.retire(current.shutdownTimeoutMs), delay(LINGER_MS), ...this.#retirements]);
    }
    this.cut();
    await current?.close();
  }

  /** Closes every connection at once. A thread that leaves with an open socket would end the whole process. */
  cut(): void {
    for (const port of this.#ports.values()) {
      port.stopAccepting();
      port.close();
    }
    this.#ports.clear();
  }

  /** The address is no longer configured: connections that are open may finish what they have begun. */
  #closePort(key: string, port: OpenPort): void {
    this.#ports.delete(key);
    port.stopAccepting();
    port.drain();
    const closing = (this.#current?.idle(this.#current.shutdownTimeoutMs) ?? Promise.resolve(true)).then(() =>
      port.close(),
    );
    this.#retirements.push(closing);
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
