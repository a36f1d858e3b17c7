import type { ListenAddress } from '../contract/index.ts';
import { locationText } from './plan-text.ts';
import type { GatewayPlan, LocationPlan, ModuleConfigs, ServerPlan } from './plan.ts';

/** Returns all locations of all servers, including server levels and nested locations. */
export function allLocations({ servers }: GatewayPlan): readonly LocationPlan[] {
  const found: LocationPlan[] = [];
  const waiting = servers.flatMap(({ root, named }) => [root, ...named]);
  for (let location = waiting.pop(); location; location = waiting.pop()) {
    found.push(location);
    waiting.push(...location.locations, ...(location.blocks ?? []).map(({ plan }) => plan));
  }
  return found;
}

/** A location with its names and the configs of its modules. */
export interface PlacedLocation {
  /** The first name of its server. */
  readonly server: string;
  /** The text of the location without its keyword. */
  readonly text: string;
  /** The path of a prefix or exact location; for others, the text. */
  readonly path: string;
  /** `file:line`. */
  readonly place: string;
  readonly modules: ModuleConfigs;
}

/** Returns all locations in the order of the configuration, each followed by its nested ones, without `if` blocks. */
export function placedLocations({ servers }: GatewayPlan): readonly PlacedLocation[] {
  return servers.flatMap((server) =>
    [...server.root.locations, ...server.named].flatMap((location) => placed(location, server)),
  );
}

function placed(
  { match, place, modules, locations }: LocationPlan,
  server: ServerPlan,
): readonly PlacedLocation[] {
  const text = match ? locationText(match) : '';
  const path = match && 'path' in match ? match.path : text;
  return [
    { server: server.name, text, path, place, modules },
    ...locations.flatMap((inner) => placed(inner, server)),
  ];
}

/** The address at which a client on this machine reaches a location. */
export interface LocalAddress {
  readonly address: ListenAddress;
  /** Value of the Host header; '' if any value will do. */
  readonly host: string;
  readonly path: string;
}

/** Returns the address of the first location for which `pathOf` returns a path, in the order of ports. */
export function findLocation(
  { ports, servers }: GatewayPlan,
  pathOf: (location: LocationPlan) => string | undefined,
): LocalAddress | undefined {
  for (const { address, servers: indices, defaultServer } of ports) {
    for (const index of [defaultServer, ...indices]) {
      const server = servers[index] as ServerPlan;
      const host = index === defaultServer ? '' : exactName(server);
      const path = host === undefined ? undefined : firstPath(server.root, pathOf);
      if (host !== undefined && path !== undefined) return { address, host, path };
    }
  }
  return undefined;
}

function exactName({ names }: ServerPlan): string | undefined {
  return names.flatMap((name) => (name.kind === 'exact' ? name.name : []))[0];
}

function firstPath(
  location: LocationPlan,
  pathOf: (location: LocationPlan) => string | undefined,
): string | undefined {
  const own = pathOf(location);
  if (own !== undefined) return own;
  for (const inner of location.locations) {
    const found = firstPath(inner, pathOf);
    if (found !== undefined) return found;
  }
  return undefined;
}
