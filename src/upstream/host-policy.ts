import { isIP } from 'node:net';
import type { Word } from '../../grammar/index.ts';
import {
  addressBytes,
  type ArgReader,
  type ComplexValue,
  contains,
  type Network,
  parseNetwork,
  readers,
  type ReadScope,
} from '../config/index.ts';

/** What a request must not name, or a name that does not lead to an address; the message is nginx's where it has one. */
export class ResolveFault extends Error {}

/** Host and port of a text that came out of variables; `port` absent: none was written. */
export interface RequestHost {
  readonly host: string;
  readonly port?: number;
}

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]{0,253}))(?::(\d{1,5}))?$/i;

/**
 * Takes apart the `host[:port]` of an address whose text depends on the request. Whoever sends a request must not aim at a
 * Unix socket of this machine, nor hide the host behind a login: both are refused, for the configuration's author alone.
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

/** One word of a list of hosts; `port` absent: any. Names are in lower case. */
export type AllowedHost = (
  | { readonly kind: 'name'; readonly name: string }
  /** `.example.com`: every name that ends so. */
  | { readonly kind: 'suffix'; readonly suffix: string }
  | { readonly kind: 'network'; readonly network: Network }
) & { readonly port?: number };

/** `name | *.name | .name | address | CIDR …`, each with a port or without. */
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
  // What ends in digits is a spelling of an address, which no name server is asked for.
  if (!NAME.test(bare) || /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(bare)) return undefined;
  if (bare === name) return [{ kind: 'name', name }];
  const suffix = { kind: 'suffix', suffix: `.${bare}` } as const;
  return name.startsWith('*') ? [suffix] : [{ kind: 'name', name: bare }, suffix];
}

/** A name as names are compared: no case, no dot at the end. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/**
 * What load time knows of a piece of a value: its text, or who fills it. `path`: a client, with what begins with a slash.
 */
export type Origin = string | { readonly by: 'client' | 'path' | 'configuration' };

/** A value in its own pieces: variables are anybody's. */
function writtenOrigins({ parts }: ComplexValue): readonly Origin[] {
  return parts.map((part) => (typeof part === 'string' ? part : { by: 'client' }));
}

/** Stands for a piece that the configuration fills. */
const SOME_TEXT = '\0';

interface HostOrigins {
  /** Some of the values leaves its host to clients. */
  readonly isOpen: boolean;
  /** Hosts, with a port where one is written, that the values have in full: in lower case. */
  readonly written: ReadonlySet<string>;
}

/** Who has a say in the host of an address, which is one of the given values: `[scheme://]host[:port][/…]`. */
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
      // What comes behind it may be nothing, or a path.
      note(before, written);
      return true;
    }
  }
  note(before, written);
  return false;
}

/** Whether a client's text behind a host that has begun is meant as its path. */
function endsHost(by: 'client' | 'path', host: string): boolean {
  return by === 'path' ? host !== '' : host.endsWith(SOME_TEXT);
}

function note(before: string, written: Set<string>): void {
  const [host = ''] = /^(?:\[[^\]]*\]|[^/?:[\]]*)(?::\d+)?/.exec(hostIn(before)) ?? [];
  if (host !== '' && !host.includes(SOME_TEXT)) written.add(host.toLowerCase());
}

/** What follows the scheme, where there is one. */
function hostIn(before: string): string {
  const scheme = before.indexOf('://');
  return scheme < 0 ? before : before.slice(scheme + 3);
}

/** Behind a host come its port, its path or its arguments. */
function isHostOver(before: string): boolean {
  if (/^(?:https?|rediss?):\/?$/i.test(before)) return false;
  return /^(?:\[[^\]]*\]|[^/?:[\]]*)[/?:]/.test(hostIn(before));
}

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
