import type { LocationFacts } from '../../contract/index.ts';

/** Where the inventory lies when a location's path does not say: the specification's paths. */
const STANDARD_PREFIX = '/runtime/';

/** What `describe` tells of an endpoint. */
export interface Described {
  readonly name: string;
  /** In the inventory: below the location's path. In a route: as a client asks for it. */
  readonly path: string;
  readonly description: string;
}

/** All routes that one configuration binds; each location adds its own while it is compiled. */
export class Routes {
  readonly #routes = new Map<string, Described>();

  add(routes: readonly Described[]): void {
    for (const route of routes) this.#routes.set(`${route.name} ${route.path}`, route);
  }

  /** In the order of the inventory. */
  list(inventory: readonly Described[]): readonly Described[] {
    const order = inventory.map(({ name }) => name);
    return [...this.#routes.values()].toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  }
}

/** The prefix below which a location serves the inventory. */
export function prefixOf({ kind, path }: LocationFacts): string {
  if (kind !== 'prefix') return STANDARD_PREFIX;
  return path.endsWith('/') ? path : `${path}/`;
}

/** Where a location serves a single endpoint; a regex shows behind `~`. No client can ask for a named location. */
export function singleRoute(
  { name, description }: Described,
  { kind, path }: LocationFacts,
): readonly Described[] {
  return kind === 'named' ? [] : [{ name, description, path: kind === 'regex' ? `~${path}` : path }];
}

/** What a location serves that has the whole inventory. */
export function inventoryRoutes(
  inventory: readonly Described[],
  location: LocationFacts,
): readonly Described[] {
  const prefix = prefixOf(location);
  const routes = inventory.map(({ name, path, description }) => ({ name, description, path: prefix + path }));
  if (location.kind === 'named') return [];
  return location.kind === 'exact' ? routes.filter(({ path }) => path === location.path) : routes;
}
