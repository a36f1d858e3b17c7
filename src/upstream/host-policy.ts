import { isIP } from 'node:net';
import { addressBytes, contains, parseNetwork } from '../config/index.ts';
import type { ComplexValue, Network } from '../config/index.ts';
import { plainName } from './allowed-hosts.ts';
import type { AllowedHost } from './allowed-hosts.ts';
import { findOrigin, writtenOrigins } from './host-origin.ts';
import type { Origin } from './host-origin.ts';
import type { RequestHost } from './request-host.ts';

/** A host that variables name and that requests must not be sent to: the answer is 403. */
export class HostRefused extends Error {
  constructor(host: string) {
    super(`host "${host}" from variables is not allowed`);
  }
}

/** Which addresses a host from variables may have; plain data. */
export interface AddressRule {
  readonly networks: readonly { readonly network: Network; readonly port?: number }[];
  /** True: all of its addresses must lie in them; false: none may. */
  readonly inside: boolean;
}

/**
 * What clients must not choose unless a list says so: this machine itself (`::/96` has `::`, `::1` and old forms of IPv4
 * addresses), and what is on the same link, where clouds give out credentials (169.254.169.254).
 */
const OWN_MACHINE: AddressRule = {
  networks: ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '::/96', 'fe80::/10'].flatMap((text) => {
    const parsed = parseNetwork(text);
    return parsed ? [{ network: parsed.network }] : [];
  }),
  inside: false,
};

/** Which hosts the variables of one directive may name. A name that is on the list may have any address. */
export class HostPolicy {
  readonly addresses: AddressRule;
  readonly #names: readonly AllowedHost[];
  /** `host` or `host:port` as the configuration writes them out: nobody but the configuration has chosen those. */
  readonly #written: ReadonlySet<string>;

  private constructor(addresses: AddressRule, names: readonly AllowedHost[], written: ReadonlySet<string>) {
    this.addresses = addresses;
    this.#names = names;
    this.#written = written;
  }

  /**
   * The policy for a value with variables; `undefined` where none can have a say in its host. With a list it holds for every
   * variable, without one for those that clients fill (`origins`: what the value is made of).
   */
  static of(
    value: ComplexValue,
    lists: readonly (readonly AllowedHost[])[] | undefined,
    origins: () => readonly (readonly Origin[])[],
  ): HostPolicy | undefined {
    const { isOpen, written } = findOrigin(lists ? [writtenOrigins(value)] : origins());
    if (!isOpen) return undefined;
    const hosts = lists?.flat() ?? [];
    const networks = hosts.flatMap((host) => (host.kind === 'network' ? host : []));
    const names = hosts.filter(({ kind }) => kind !== 'network');
    return new HostPolicy(lists ? { networks, inside: true } : OWN_MACHINE, names, written);
  }

  /**
   * True: requests may go there, whatever its addresses are. False: that depends on the addresses of the name, all of which
   * `admits` has to be asked for. Throws `HostRefused` when it is settled that they may not. `number`: the port that counts,
   * written or not.
   */
  settles({ host, port }: RequestHost, number: number): boolean {
    const text = port === undefined ? host : `${host}:${port}`;
    if (this.#written.has(text.toLowerCase())) return true;
    const ip = host.replace(/^\[|\]$/g, '');
    if (isIP(ip)) {
      if (!admits(this.addresses, ip, number)) throw new HostRefused(text);
      return true;
    }
    const name = plainName(host);
    if (this.#names.some((allowed) => fits(allowed, name, number))) return true;
    const { inside, networks } = this.addresses;
    if (inside && !networks.some((one) => (one.port ?? number) === number)) throw new HostRefused(text);
    return false;
  }
}

function fits(allowed: AllowedHost, name: string, port: number): boolean {
  if ((allowed.port ?? port) !== port || allowed.kind === 'network') return false;
  return allowed.kind === 'name' ? name === allowed.name : name.endsWith(allowed.suffix);
}

/** Whether a host may have this address. An IPv4 address in IPv6 clothes (`::ffff:127.0.0.1`) is the IPv4 address. */
export function admits({ networks, inside }: AddressRule, ip: string, number: number): boolean {
  const bytes = addressBytes(ip);
  if (!bytes) return false;
  return (
    networks.some(({ network, port = number }) => port === number && contains(network, bytes)) === inside
  );
}
