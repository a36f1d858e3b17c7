import type { ComplexValue } from '../../config/index.ts';
import type { LocationFacts, WorkerScope } from '../../contract/index.ts';
import { type Dictionary, openDictionary } from '../../zone/index.ts';
import { type ConsoleResources, openConsole } from './console/history.ts';

/** What the control surface reads of the configuration of one location. */
export interface ControlConfig {
  /** Name of the endpoint that this location serves, or the whole inventory below its path. */
  readonly api?: string;
  /** This location serves the console. */
  readonly console: boolean;
  /** Name of the dictionary that holds the flags. */
  readonly flagsZone: string;
  readonly dictionaries?: readonly DictionaryConfig[];
  readonly flags?: readonly FlagVariable[];
  /** True: browsers may be led here by other sites and by foreign names. */
  readonly crossSite: boolean;
}

/** `control_api;` without a name. */
export const WHOLE_INVENTORY = '';

/** `shared_dict_zone zone=name:size [timeout=t] [evict]`. */
export interface DictionaryConfig {
  readonly name: string;
  readonly sizeBytes: number;
  /** 0: entries stay until they are deleted. */
  readonly timeoutMs: number;
  readonly evict: boolean;
}

/** `feature_flag $variable name [key=value]`. */
export interface FlagVariable {
  /** In lower case. */
  readonly variable: string;
  readonly flag: string;
  readonly key: ComplexValue;
}

/** Where the inventory lies when a location's path does not say: the specification's paths. */
const STANDARD_PREFIX = '/runtime/';

/** What `describe` tells of an endpoint. */
export interface RouteDescription {
  readonly name: string;
  /** In the inventory: below the location's path. In a route: as a client asks for it. */
  readonly path: string;
  readonly description: string;
}

/** All routes that one configuration binds; each location adds its own while it is compiled. */
class Routes {
  readonly #routes = new Map<string, RouteDescription>();

  add(routes: readonly RouteDescription[]): void {
    for (const route of routes) this.#routes.set(`${route.name} ${route.path}`, route);
  }

  /** In the order of the inventory. */
  list(inventory: readonly RouteDescription[]): readonly RouteDescription[] {
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
  { name, description }: RouteDescription,
  { kind, path }: LocationFacts,
): readonly RouteDescription[] {
  return kind === 'named' ? [] : [{ name, description, path: kind === 'regex' ? `~${path}` : path }];
}

/** What a location serves that has the whole inventory. */
export function inventoryRoutes(
  inventory: readonly RouteDescription[],
  location: LocationFacts,
): readonly RouteDescription[] {
  const prefix = prefixOf(location);
  const routes = inventory.map(({ name, path, description }) => ({ name, description, path: prefix + path }));
  if (location.kind === 'named') return [];
  return location.kind === 'exact' ? routes.filter(({ path }) => path === location.path) : routes;
}

/** What the control surface uses in one worker. */
export interface ControlResources {
  readonly dictionaries: ReadonlyMap<string, Dictionary>;
  /** What the whole configuration binds. */
  readonly routes: Routes;
  readonly worker: WorkerScope;
  readonly console: ConsoleResources | undefined;
}

/** Opens the dictionaries of the configuration. */
export function openResources(
  { dictionaries = [], console }: ControlConfig,
  worker: WorkerScope,
): ControlResources {
  return {
    dictionaries: new Map(
      dictionaries.map(({ name, timeoutMs, evict }) => [
        name,
        openDictionary(worker.zone(name), worker.workerId, { timeoutMs, evict }),
      ]),
    ),
    routes: worker.share(
      `control routes ${worker.generation}`,
      () => new Routes(),
      () => undefined,
    ),
    worker,
    console: console ? openConsole(worker) : undefined,
  };
}
