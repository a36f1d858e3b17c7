import type { PortHandler } from '../compile/index.ts';
import type { OpenPort, Transport } from './transport/index.ts';

/** What a reload changes: sockets that it opened already, and those that nobody configures any more. */
export interface PortChange {
  readonly wanted: readonly PortHandler[];
  readonly added: readonly OpenPort[];
}

/** The sockets of one worker. A reload touches only those that came or went. */
export class OpenPorts {
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
  async prepare(wanted: readonly PortHandler[]): Promise<PortChange> {
    const added: OpenPort[] = [];
    try {
      // A wildcard address may have to serve others of its port, so it comes first.
      for (const port of wanted.toSorted(wildcardsFirst)) {
        const open = this.#open.get(port.key);
        if (!open) added.push(await this.#transport.open(port));
        else if (this.#transport.canKeep?.(open, port) === false) {
          throw new Error(`${port.key} needs another engine: restart the gateway`);
        }
      }
      return { wanted, added };
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
  switch({ wanted, added }: PortChange): readonly OpenPort[] {
    for (const port of wanted) this.#open.get(port.key)?.use(port);
    for (const port of added) this.#open.set(port.key, port);
    const keys = new Set(wanted.map(({ key }) => key));
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
