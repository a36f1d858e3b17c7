import type { MessagePort } from 'node:worker_threads';
import { addressText, type PortPlan } from '../../plan/index.ts';
import type { Opening, Openings } from '../../worker/index.ts';
import { probePort } from '../probe-port.ts';
import type { Inheritance } from '../upgrade/inheritance.ts';
import { AcceptorThread } from './acceptor-thread.ts';
import { SharedSockets, wildcardsOf } from './shared-sockets.ts';

/**
 * The listening sockets of this process that its workers do not open for themselves: those from which the acceptor
 * gives connections to all of them, and those of which each gets a copy.
 */
export class ListeningSockets {
  readonly #inheritance: Inheritance | undefined;
  readonly #shared = new SharedSockets();
  #acceptor: AcceptorThread | undefined;
  #settled = false;

  /** `inheritance` has the sockets of the program that this one replaces. */
  constructor(inheritance: Inheritance | undefined) {
    this.#inheritance = inheritance;
  }

  /** Takes the inherited sockets, and binds these ports for the acceptor as far as uWebSockets.js may serve them. */
  async settle(ports: readonly PortPlan[], bound: readonly PortPlan[] = []): Promise<void> {
    this.#settled = true;
    const inheritance = this.#inheritance;
    const toBind = new Set(bound);
    const accepted = ports.filter(
      (port) => port.engine !== 'node' && (toBind.has(port) || inheritance?.has(port)),
    );
    this.#acceptor = await AcceptorThread.open(accepted, inheritance);
    for (const { address } of ports) {
      const key = addressText(address);
      if (!inheritance?.has({ address }) || this.#acceptor?.accepts(key)) continue;
      this.#shared.adopt(key, await inheritance.takeAll(address));
    }
  }

  /** Rejects if one of these new ports cannot be bound. Inherited ones, and those beside an inherited wildcard, are. */
  async probe(ports: readonly PortPlan[]): Promise<void> {
    const inheritance = this.#settled ? undefined : this.#inheritance;
    const isInherited = (port: PortPlan): boolean =>
      [port.address, ...wildcardsOf(port.address)].some((address) => inheritance?.has({ address }));
    for (const port of ports) if (!isInherited(port)) await probePort(port.address);
  }

  /** Tells whether a port is open here. */
  has(port: PortPlan): boolean {
    return this.#accepts(port) || this.#shared.has(addressText(port.address));
  }

  /** Returns the openings of one worker. */
  async openings(ports: readonly PortPlan[]): Promise<Map<string, Opening>> {
    const shared: Openings = await this.#shared.openings(ports.filter((port) => !this.#accepts(port)));
    const openings = new Map(shared);
    for (const port of ports)
      if (this.#accepts(port)) openings.set(addressText(port.address), { kind: 'acceptor' });
    return openings;
  }

  #accepts({ engine, address }: PortPlan): boolean {
    return engine !== 'node' && this.#acceptor?.accepts(addressText(address)) === true;
  }

  connect(workerId: number): MessagePort | undefined {
    return this.#acceptor?.connect(workerId);
  }

  hold(workerId: number): void {
    this.#acceptor?.hold(workerId);
  }

  /** Closes all sockets but those of these ports, which serve now. */
  keep(ports: readonly PortPlan[]): void {
    this.#shared.keep(ports);
    this.#acceptor?.keep(new Set(ports.map(({ address }) => addressText(address))));
  }

  /** Closes the sockets that were bound for a refused configuration. */
  refused(): void {
    this.#shared.refused();
  }

  /** Closes all sockets. `isReplaced`: another program serves on them. */
  leave(how: { readonly isReplaced: boolean }): void {
    this.#shared.close(how);
    this.#acceptor?.keep(new Set());
  }

  /** Resolves when the acceptor has ended. */
  async ended(): Promise<void> {
    await this.#acceptor?.end();
  }
}
