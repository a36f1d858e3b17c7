import { closeSync } from 'node:fs';
import type { ListenAddress } from '../../contract/index.ts';
import { addressText, type PortPlan } from '../../plan/index.ts';
import { sharesPorts } from '../../system/index.ts';
import type { Opening, Openings } from '../../worker/index.ts';
import { bindAddress, type BoundSocket } from '../bound-sockets.ts';
import { SocketCopies } from './socket-copies.ts';

/**
 * The sockets of ports that workers cannot open side by side: those of the node engine where Node.js does not let
 * threads share a port. They are bound once, and each worker listens on a copy. An address has several if they were
 * inherited from a program whose workers had opened one each.
 */
export class SharedSockets {
  readonly #sockets = new Map<string, readonly BoundSocket[]>();
  /** Keys that were bound for a configuration that does not serve yet. */
  readonly #fresh = new Set<string>();
  readonly #copies = new SocketCopies();
  #isClosed = false;

  /** Takes the inherited sockets of an address. */
  adopt(key: string, sockets: readonly BoundSocket[]): void {
    this.#sockets.set(key, sockets);
  }

  has(key: string): boolean {
    return this.#sockets.has(key);
  }

  /** Returns the openings of one worker. */
  async openings(ports: readonly PortPlan[]): Promise<Openings> {
    const openings = new Map<string, Opening>();
    // A wildcard address comes first, since its socket may have to serve other addresses of its port.
    for (const port of ports.toSorted((one, other) => Number(isWildcard(other)) - Number(isWildcard(one)))) {
      const opening = await this.#openingOf(port);
      if (opening) openings.set(addressText(port.address), opening);
    }
    return openings;
  }

  /** Closes all sockets but those of these ports. */
  keep(ports: readonly PortPlan[]): void {
    this.#fresh.clear();
    const kept = new Set(ports.map(({ address }) => addressText(address)));
    this.#close((key) => !kept.has(key));
  }

  /** Closes the sockets that were bound for a refused configuration. */
  refused(): void {
    this.#close((key) => this.#fresh.has(key));
    this.#fresh.clear();
  }

  /**
   * Closes all sockets, so that no client waits on one that no worker accepts from. If another program serves on them,
   * Unix sockets stay open until this process ends: libuv would remove their files.
   */
  close({ isReplaced = false }: { readonly isReplaced?: boolean } = {}): void {
    this.#isClosed = true;
    this.#close((key) => !isReplaced || !key.startsWith('unix:'));
    this.#copies.close();
  }

  async #openingOf(port: PortPlan): Promise<Opening | undefined> {
    const key = addressText(port.address);
    const known = this.#sockets.get(key);
    if (!known && !isShared(port)) return undefined;
    if (this.#isClosed) return { kind: 'refused', reason: `bind() to ${key} failed (the gateway stops)` };
    if (known) return this.#copyOf(key, known);
    const socket = bindAddress(port.address);
    // The port has been probed, so worker 1 has opened it itself, or the address is beside its wildcard.
    if (typeof socket === 'number') return this.#hasWildcardOf(port) ? { kind: 'beside' } : undefined;
    this.#sockets.set(key, [socket]);
    this.#fresh.add(key);
    return this.#copyOf(key, [socket]);
  }

  async #copyOf(key: string, sockets: readonly BoundSocket[]): Promise<Opening> {
    const copies = await Promise.all(sockets.map((socket) => this.#copies.copy(socket)));
    const fds = copies.flatMap((copy) => (copy ? [copy.fd] : []));
    if (fds.length === sockets.length) return { kind: 'descriptor', fds };
    for (const fd of fds) closeSync(fd);
    // A socket has been closed meanwhile, or no copy has arrived.
    return { kind: 'refused', reason: `bind() to ${key} failed (no copy of its socket came)` };
  }

  #hasWildcardOf({ address }: PortPlan): boolean {
    return wildcardsOf(address).some((wildcard) => this.#sockets.has(addressText(wildcard)));
  }

  #close(isLeft: (key: string) => boolean): void {
    for (const [key, sockets] of this.#sockets) {
      if (!isLeft(key)) continue;
      for (const socket of sockets) socket.close();
      this.#sockets.delete(key);
    }
  }
}

function isShared({ engine, address }: PortPlan): boolean {
  return engine === 'node' && (address.kind === 'unix' || !sharesPorts(process.versions.node));
}

const WILDCARDS = ['0.0.0.0', '::'];

function isWildcard({ address }: PortPlan): boolean {
  return address.kind === 'inet' && WILDCARDS.includes(address.host);
}

/** Returns the wildcard addresses of the port of an address. */
export function wildcardsOf(address: ListenAddress): readonly ListenAddress[] {
  return address.kind === 'unix' ? [] : WILDCARDS.map((host) => ({ ...address, host }));
}
