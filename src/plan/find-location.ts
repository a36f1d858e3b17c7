import type { ListenAddress } from '../contract/index.ts';
import type { GatewayPlan, LocationPlan, ServerPlan } from './plan.ts';

/** How a client of this machine reaches a location. */
export interface Reach {
  readonly address: ListenAddress;
  /** For the Host header; '' where any will do. */
  readonly host: string;
  readonly path: string;
}

/** The first location for which `pathOf` names a path, port by port. */
export function findLocation(
  { ports, servers }: GatewayPlan,
  pathOf: (location: LocationPlan) => string | undefined,
): Reach | undefined {
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
