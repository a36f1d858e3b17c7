import { SharedText } from '../../zone/index.ts';
import type { ServerAddress } from '../peer-group.ts';
import type { ServerConfig } from '../plan.ts';

type Server = Pick<ServerConfig, 'target' | 'resolve'>;

/**
 * The addresses of the servers with `resolve` of one upstream, in shared memory: after a reload, and in a worker that
 * replaces another one, the group begins with them, even if no name server responds.
 */
export class KnownAddresses {
  readonly #text: SharedText;

  constructor(buffer: SharedArrayBuffer, threadId: number) {
    this.#text = new SharedText(buffer, threadId);
  }

  /** Returns the addresses that were found last for the same name and service. */
  of(server: Server): readonly ServerAddress[] {
    const known = read(this.#text.read()?.text ?? '')[keyOf(server)] ?? [];
    return server.target.kind === 'name' ? withPort(known, server, server.target.port) : known;
  }

  /** Replaces the addresses of a server. */
  keep(server: Server, addresses: readonly ServerAddress[]): void {
    const key = keyOf(server);
    // The port comes from the configuration, which a reload may change.
    const portless = withPort(addresses, server, 0);
    const change = this.#text.change((text) => {
      const next = JSON.stringify({ ...read(text), [key]: portless });
      return next === text ? undefined : next;
    });
    // Servers that are no longer configured may fill the memory.
    if (change !== 'too long') return;
    const alone = this.#text.change(() => JSON.stringify({ [key]: portless }));
    if (alone === 'too long') this.#text.change(() => '');
  }
}

function read(text: string): Readonly<Record<string, readonly ServerAddress[]>> {
  return text === '' ? {} : (JSON.parse(text) as Record<string, readonly ServerAddress[]>);
}

function keyOf({ target, resolve }: Server): string {
  return JSON.stringify([
    target.kind === 'name' ? target.host : target,
    resolve?.service ?? '',
  ]).toLowerCase();
}

/** Replaces the port in the addresses of a name. Those of a service keep the ports of their SRV records. */
function withPort(
  addresses: readonly ServerAddress[],
  { resolve }: Server,
  port: number,
): readonly ServerAddress[] {
  if (resolve?.service !== undefined) return addresses;
  return addresses.map((found) => ({ ...found, address: found.address.replace(/\d+$/, String(port)) }));
}
