import type { Word } from '../../grammar/index.ts';
import { type ArgReader, type ComplexValue, constantText, readers } from '../config/index.ts';
import { type Exchange, HttpFault } from '../http/index.ts';
import type { AllowedHost, UpstreamAddress, UpstreamGroup } from '../upstream/index.ts';
import type { ForwardingBuild } from './forwarding-build.ts';
import type { TryingConfig } from './config.ts';
import { compileConnections, compileKnownTarget, type Provisioned } from './connections.ts';
import { compileNamedGroup, namesFixedSocket } from './named-group.ts';
import type { Target } from './protocol.ts';

/** The address of `fastcgi_pass` and similar directives: `host:port`, `unix:/path`, or the name of a group. */
export type PassAddress =
  | { readonly kind: 'literal'; readonly scheme: string; readonly address: UpstreamAddress }
  | { readonly kind: 'variables'; readonly value: ComplexValue };

/** The schemes that an address may begin with, and their names in the log. */
type Schemes = Readonly<Record<string, string>>;

/** The port of an address without one, by scheme if it depends on the scheme; 0: a port is required. */
type DefaultPort = number | Readonly<Record<string, number>>;

/** Returns the reader of an address. The key '' in `schemes` is for addresses without a scheme. */
export function passAddress(schemes: Schemes, defaultPort: DefaultPort): ArgReader<PassAddress> {
  return readers.oneWord('address', (word: Word, scope) => {
    const value = scope.complexValue(word);
    if (constantText(value) === undefined) return { kind: 'variables', value };
    const read = readAddress(word.value, { schemes, defaultPort });
    if (typeof read !== 'string') return { kind: 'literal', ...read };
    scope.report.emerg(read, word.span, 'expected host:port, unix:/path or the name of an upstream');
    return undefined;
  });
}

interface Reading {
  readonly schemes: Schemes;
  readonly defaultPort: DefaultPort;
}

const ADDRESS = /^(unix:.+|\[[0-9a-f:.]+\]|[^/?:[\]]+)(?::(\d+))?$/is;

function readAddress(
  text: string,
  { schemes, defaultPort: usual }: Reading,
): { readonly scheme: string; readonly address: UpstreamAddress } | string {
  const [, prefix = '', rest = ''] = /^(\w+:\/\/)?(.*)$/s.exec(text) ?? [];
  const scheme = schemes[prefix.replace('://', '').toLowerCase()];
  if (scheme === undefined) return 'invalid URL prefix';
  const defaultPort = typeof usual === 'number' ? usual : (usual[scheme] ?? 0);
  if (/^unix:/i.test(rest)) {
    if (rest.length === 5) return `no path in the unix domain socket in upstream "${rest}"`;
    return { scheme, address: { host: rest.replace(/:$/, ''), defaultPort } };
  }
  const [, host, digits] = ADDRESS.exec(rest) ?? [];
  if (host === undefined)
    return `${rest === '' || rest.startsWith(':') ? 'no host' : 'invalid host'} in upstream "${rest}"`;
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port < 1 || port > 65_535)) return `invalid port in upstream "${rest}"`;
  return { scheme, address: { host, ...(port !== undefined && { port }), defaultPort } };
}

interface AddressedLocation extends Reading {
  readonly config: Pick<TryingConfig, 'bind'>;
  readonly provisioned: Provisioned;
  /** For messages: `fastcgi_pass`. */
  readonly directive: string;
  readonly allowHosts?: readonly (readonly AllowedHost[])[];
  /** The scheme, as named in the log, whose connections are encrypted. */
  readonly tlsScheme?: string;
}

interface AddressBuild extends ForwardingBuild {
  readonly core: ForwardingBuild['core'] & Parameters<typeof compileNamedGroup>[1]['build']['core'];
  origins: Parameters<typeof compileNamedGroup>[1]['build']['origins'];
}

/** Compiles the destination of requests. */
export function compileAddress(
  pass: PassAddress,
  location: AddressedLocation,
  build: AddressBuild,
): (x: Exchange) => Target | Promise<Target> {
  const { config, provisioned, tlsScheme } = location;
  if (pass.kind === 'variables') return compileVariables(pass.value, location, build);
  const { scheme, address } = pass;
  const group = provisioned.upstreams.find(address);
  if (!group) throw new Error(`upstream "${address.host}" is unknown in this worker`);
  return compileKnownTarget<Target>({ group, scheme }, scheme === tlsScheme, { config, provisioned, build });
}

function compileVariables(
  value: ComplexValue,
  { config, provisioned, directive, allowHosts, tlsScheme, ...reading }: AddressedLocation,
  build: AddressBuild,
): (x: Exchange) => Target | Promise<Target> {
  const render = build.value(value);
  const connectionsOf = compileConnections({ config, provisioned, build });
  const naming = { value, directive, allowHosts, isFixedSocket: namesFixedSocket(value) };
  const groupOf = compileNamedGroup(naming, { upstreams: provisioned.upstreams, build });
  return (x) => {
    const read = readAddress(render(x), reading);
    if (typeof read === 'string') throw new HttpFault(500, `${read} in "${directive}"`);
    const { scheme, address } = read;
    const make = (group: UpstreamGroup): Target => ({
      group,
      connections: connectionsOf(x, group, scheme === tlsScheme),
      scheme,
    });
    const group = groupOf(address);
    return group instanceof Promise ? group.then(make) : make(group);
  };
}
