import type { ListenAddress, LocationMatch, ServerName } from '../contract/index.ts';
import type { GatewayPlan, LocationPlan, PortPlan, ServerPlan } from './plan.ts';

/** Returns the text of an address in messages. It also identifies a port. */
export function addressText(address: ListenAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  const { host, port } = address;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns the text of a server name as in `server_name`. */
export function serverNameText(name: ServerName): string {
  switch (name.kind) {
    case 'exact':
      return name.name;
    case 'leading wildcard':
      return `*${name.suffix}`;
    case 'trailing wildcard':
      return `${name.prefix}*`;
    case 'regex':
      return `~${name.regex.pattern}`;
  }
}

/** Returns the text of a location without its keyword: `= /a`, `^~ /b`, `~* \.png$`, `@c`. */
export function locationText(match: LocationMatch): string {
  switch (match.kind) {
    case 'exact':
      return `= ${match.path}`;
    case 'prefix':
      return match.stop ? `^~ ${match.path}` : match.path;
    case 'regex':
      return `${match.caseless ? '~*' : '~'} ${match.regex.pattern}`;
    case 'named':
      return match.name;
  }
}

/** Returns the output of `gw -t --tree`: ports, their servers, and the locations in the order of matching. */
export function printTree({ ports, servers }: GatewayPlan): string {
  const lines = ports.flatMap(({ servers: indices, defaultServer, ...port }) => [
    `listen ${addressText(port.address)}${engineText(port)}`,
    ...indices.flatMap((index) => serverLines(servers[index] as ServerPlan, index === defaultServer)),
  ]);
  return lines.map((line) => `${line}\n`).join('');
}

/** Returns the engine of a port with TLS where uWebSockets.js was asked for, with the reason if it is the other one. */
export function engineText({ ssl, engine, nodeOnly }: Pick<PortPlan, 'ssl' | 'engine' | 'nodeOnly'>): string {
  if (nodeOnly !== undefined) return ` (TLS of the node engine, for ${nodeOnly})`;
  return ssl && engine !== 'node' ? ' (TLS of uWebSockets.js)' : '';
}

function serverLines({ name, root, named }: ServerPlan, isDefault: boolean): readonly string[] {
  const marks = isDefault ? ' (default)' : '';
  return [
    `  server ${name === '' ? '""' : name}${marks}${contentText(root)}  # ${root.place}`,
    ...locationLines(root.locations, '    '),
    ...locationLines(named, '    '),
  ];
}

function locationLines(locations: readonly LocationPlan[], indent: string): readonly string[] {
  return inOrder(locations).flatMap((location) => [
    `${indent}${locationText(location.match as LocationMatch)}${contentText(location)}  # ${location.place}`,
    ...locationLines(location.locations, `${indent}  `),
  ]);
}

/** Returns locations in the order of matching: exact, prefixes from the longest on, regexes as written, named. */
export function inOrder(locations: readonly LocationPlan[]): readonly LocationPlan[] {
  const ranks: Readonly<Record<LocationMatch['kind'], number>> = { exact: 0, prefix: 1, regex: 2, named: 3 };
  const rank = ({ match }: LocationPlan): number => ranks[match?.kind ?? 'named'];
  const length = ({ match }: LocationPlan): number => (match?.kind === 'prefix' ? match.path.length : 0);
  return locations.toSorted((a, b) => rank(a) - rank(b) || length(b) - length(a));
}

/** Modules that are not shown, because every location uses them if any location does. */
const EVERYWHERE: ReadonlySet<string> = new Set([
  'access_log',
  'upstream',
  'map',
  'geo',
  'split_clients',
  'static',
]);

/** Returns the names of the modules that a location uses, without those that every location uses. */
function contentText({ modules, core }: LocationPlan): string {
  if (core.skipped !== undefined) return ` → 501, "${core.skipped}" is not supported`;
  const acting = Object.keys(modules).filter((name) => !EVERYWHERE.has(name));
  const words = [...acting, ...(core.internal ? ['internal'] : [])];
  return words.length === 0 ? '' : ` → ${words.join(', ')}`;
}
