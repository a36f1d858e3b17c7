import { isIP } from 'node:net';
import type { Word } from '../../../grammar/index.ts';
import {
  addressBytes,
  type ArgReader,
  type ComplexValue,
  contains,
  type Network,
  parseNetwork,
  readers,
  type ReadScope,
} from '../../config/index.ts';
import { embeddedAddress, SPECIAL_NETWORKS } from './special-addresses.ts';

/**
 * The error of a host that a request may not name, or of a name that cannot be resolved. The message is nginx's if it
 * has one.
 */
export class ResolveFault extends Error {}

/** Host and port of a text from variables; `port` is absent if none was written. */
export interface RequestHost {
  readonly host: string;
  readonly port?: number;
}

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]{0,253}))(?::(\d{1,5}))?$/i;

/**
 * Splits the `host[:port]` of an address that depends on the request. A client must not be able to name a Unix socket
 * of this machine or hide the host behind a login, so both are refused.
 */
export function readRequestHost(text: string): RequestHost | ResolveFault {
  if (/^unix:/i.test(text)) return new ResolveFault(`"${text}" may not name a unix socket by variables`);
  if (text.includes('@')) return new ResolveFault(`"${text}" may not carry a login by variables`);
  const [, host, port] = HOST.exec(text) ?? [];
  if (host === undefined) return new ResolveFault(`invalid host in upstream "${text}"`);
  if (port === undefined) return { host };
  const number = Number(port);
  if (number < 1 || number > 65_535) return new ResolveFault(`invalid port in upstream "${text}"`);
  return { host, port: number };
}

/** An entry of a list of hosts; without `port` it applies to any port. Names are in lower case. */
export type AllowedHost = (
  | { readonly kind: 'name'; readonly name: string }
  /** `.example.com`: every name with this suffix. */
  | { readonly kind: 'suffix'; readonly suffix: string }
  | { readonly kind: 'network'; readonly network: Network }
) & { readonly port?: number };

/** Reads `name | *.name | .name | address | CIDR …`, each with an optional port. */
export const allowedHosts: ArgReader<readonly AllowedHost[]> = readers.words(
  { syntax: 'name[:port] | *.name[:port] | .name[:port] | address[:port] | CIDR ...', min: 1, max: Infinity },
  (words, scope) => {
    const hosts = words.map((word) => readHost(word, scope));
    return hosts.every((host) => host !== undefined) ? hosts.flat() : undefined;
  },
);

const NAME = /^[a-z0-9_](?:[a-z0-9_-]|\.(?=[a-z0-9_-])){0,252}$/;
const WITH_PORT = /^(\[[^\]]*\]|[^:[\]]*):(\d{1,5})$/;

function readHost(word: Word, scope: ReadScope): readonly AllowedHost[] | undefined {
  const network = parseNetwork(word.value);
  if (network) {
    readers.warnOfHostBits(word, network, scope.report);
    return [{ kind: 'network', network: network.network }];
  }
  const [, host = word.value, digits] = WITH_PORT.exec(word.value) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  const found = port === 0 || (port ?? 1) > 65_535 ? undefined : hostsOf(host);
  if (!found) {
    const expected = 'expected a name, *.name, .name, an address or a network such as 10.0.0.0/8';
    scope.report.emerg(`invalid host "${word.value}"`, word.span, expected);
  }
  return found?.map((one) => ({ ...one, ...(port !== undefined && { port }) }));
}

function hostsOf(host: string): readonly AllowedHost[] | undefined {
  const ip = /^\[(.*)\]$/.exec(host)?.[1] ?? host;
  const parsed = isIP(ip) ? parseNetwork(ip) : undefined;
  if (parsed) return [{ kind: 'network', network: parsed.network }];
  const name = plainName(host);
  const bare = name.replace(/^\*?\./, '');
  // A name whose last label is a number is a form of an address, and is never looked up.
  if (!NAME.test(bare) || /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(bare)) return undefined;
  if (bare === name) return [{ kind: 'name', name }];
  const suffix = { kind: 'suffix', suffix: `.${bare}` } as const;
  return name.startsWith('*') ? [suffix] : [{ kind: 'name', name: bare }, suffix];
}

/** Returns a name for comparison: in lower case, without a final dot. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/**
 * A piece of a value as known at load time: its text, or who chooses it. `path`: a client chooses it, but it begins with
 * a slash.
 */
export type Origin = string | { readonly by: 'client' | 'path' | 'configuration' };

/** Returns the origins of a value's pieces, with all variables chosen by clients. */
function writtenOrigins({ parts }: ComplexValue): readonly Origin[] {
  return parts.map((part) => (typeof part === 'string' ? part : { by: 'client' }));
}

/** Represents a piece that the configuration chooses. */
const SOME_TEXT = '\0';

interface HostOrigins {
  /** True if clients can choose the host of one of the values. */
  readonly isOpen: boolean;
  /** Hosts that the values contain completely, with their port if there is one; in lower case. */
  readonly written: ReadonlySet<string>;
}

/** Finds who chooses the host of an address with the given alternative values: `[scheme://]host[:port][/…]`. */
function findOrigin(values: readonly (readonly Origin[])[]): HostOrigins {
  const written = new Set<string>();
  const isOpen = values.map((pieces) => isLeftOpen(pieces, written)).includes(true);
  return { isOpen, written };
}

function isLeftOpen(pieces: readonly Origin[], written: Set<string>): boolean {
  let before = '';
  for (const piece of pieces) {
    if (isHostOver(before)) break;
    if (typeof piece === 'string') before += piece;
    else if (piece.by === 'configuration') before += SOME_TEXT;
    else if (endsHost(piece.by, hostIn(before))) break;
    else {
      // The client's text may be empty or a path, so the host before it may be complete.
      note(before, written);
      return true;
    }
  }
  note(before, written);
  return false;
}

/** Tells whether a client's text after the start of a host is the path. */
function endsHost(by: 'client' | 'path', host: string): boolean {
  return by === 'path' ? host !== '' : host.endsWith(SOME_TEXT);
}

function note(before: string, written: Set<string>): void {
  const [host = ''] = /^(?:\[[^\]]*\]|[^/?:[\]]*)(?::\d+)?/.exec(hostIn(before)) ?? [];
  if (host !== '' && !host.includes(SOME_TEXT)) written.add(host.toLowerCase());
}

/** Returns the text after the scheme, if there is one. */
function hostIn(before: string): string {
  const scheme = before.indexOf('://');
  return scheme < 0 ? before : before.slice(scheme + 3);
}

/** Tells whether the host is complete: a port, path or arguments follow. */
function isHostOver(before: string): boolean {
  if (/^(?:https?|rediss?):\/?$/i.test(before)) return false;
  return /^(?:\[[^\]]*\]|[^/?:[\]]*)[/?:]/.test(hostIn(before));
}

/** The error of a host from variables that is not allowed; the response is 403. */
export class HostRefused extends Error {
  constructor(host: string) {
    super(`host "${host}" from variables is not allowed`);
  }
}

/** The addresses that a host from variables may have; plain data. */
export interface AddressRule {
  readonly networks: readonly { readonly network: Network; readonly port?: number }[];
  /** True: all addresses must be in the networks; false: none may be. */
  readonly inside: boolean;
}

/** The addresses that clients may not choose without a list. */
const SPECIAL: AddressRule = {
  networks: SPECIAL_NETWORKS.map((network) => ({ network })),
  inside: false,
};

/** The hosts that the variables of one directive may name. A listed name may have any address. */
export class HostPolicy {
  readonly addresses: AddressRule;
  readonly #names: readonly AllowedHost[];
  /** `host` or `host:port` texts that the configuration contains; these are allowed. */
  readonly #written: ReadonlySet<string>;

  private constructor(addresses: AddressRule, names: readonly AllowedHost[], written: ReadonlySet<string>) {
    this.addresses = addresses;
    this.#names = names;
    this.#written = written;
  }

  /**
   * Returns the policy for a value with variables; `undefined` if no variable affects the host. With a list it applies
   * to every variable, without one to those that clients choose (`origins`).
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
    return new HostPolicy(lists ? { networks, inside: true } : SPECIAL, names, written);
  }

  /**
   * Returns true if requests may be sent to the host, whatever its addresses are, and false if each address must be
   * tested with `admits`. Throws `HostRefused` if they may not. `number` is the effective port.
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

/**
 * Tells whether a host may have this address. An IPv4-mapped IPv6 address (`::ffff:127.0.0.1`) counts as the IPv4
 * address. Where networks are excluded, an address that leads to one of their addresses is excluded as well.
 */
export function admits({ networks, inside }: AddressRule, ip: string, number: number): boolean {
  const bytes = addressBytes(ip);
  if (!bytes) return false;
  const isIn = (address: readonly number[]): boolean =>
    networks.some(({ network, port = number }) => port === number && contains(network, address));
  if (inside) return isIn(bytes);
  const embedded = embeddedAddress(bytes);
  return !isIn(bytes) && !(embedded && isIn(embedded));
}
