import type { ComplexValue } from '../../config/index.ts';
import type { LocationFacts, WorkerScope } from '../../contract/index.ts';
import { type Dictionary, openDictionary, zoneIdentity } from '../../zone/index.ts';
import { type ConsoleResources, openConsole } from './console/history.ts';

/** The configuration of the control surface in one location. */
export interface ControlConfig {
  /** Name of the endpoint that this location serves, or `WHOLE_INVENTORY`. */
  readonly api?: string;
  /** This location serves metrics under the names of nginz. */
  readonly prometheus?: true;
  /** This location serves the console. */
  readonly console: boolean;
  /** The console tries requests on REST locations, as any role that they may have. */
  readonly consoleApi: boolean;
  /** Name of the dictionary for feature flags. */
  readonly flagsZone: string;
  readonly dictionaries?: readonly DictionaryConfig[];
  readonly flags?: readonly FlagVariable[];
  /** True: serves requests from pages of other sites and those with unknown host names. */
  readonly crossSite: boolean;
}

/** `control_api;` without a name. */
export const WHOLE_INVENTORY = '';

/** `shared_dict_zone zone=name:size [timeout=t] [evict] [cluster=name]`. */
export interface DictionaryConfig {
  readonly name: string;
  readonly sizeBytes: number;
  /** 0: entries stay until they are deleted. */
  readonly timeoutMs: number;
  readonly evict: boolean;
  /** The cluster whose gateways share its entries. */
  readonly cluster?: string;
}

/** `feature_flag $variable name [key=value]`. */
export interface FlagVariable {
  /** In lower case. */
  readonly variable: string;
  readonly flag: string;
  readonly key: ComplexValue;
}

/** The prefix of the inventory if the location's path does not give it. */
const STANDARD_PREFIX = '/runtime/';

/** An endpoint as `describe` shows it. */
export interface RouteDescription {
  readonly name: string;
  /** In the inventory: below the location's path. In a route: the whole path. */
  readonly path: string;
  readonly description: string;
}

/** All routes of one configuration; each location adds its own while it is compiled. */
class Routes {
  readonly #routes = new Map<string, RouteDescription>();

  add(routes: readonly RouteDescription[]): void {
    for (const route of routes) this.#routes.set(`${route.name} ${route.path}`, route);
  }

  /** Returns the routes in the order of the inventory. */
  list(inventory: readonly RouteDescription[]): readonly RouteDescription[] {
    const order = inventory.map(({ name }) => name);
    return [...this.#routes.values()].toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  }
}

/** Returns the prefix below which a location serves the inventory. */
export function prefixOf({ kind, path }: LocationFacts): string {
  if (kind !== 'prefix') return STANDARD_PREFIX;
  return path.endsWith('/') ? path : `${path}/`;
}

/**
 * Returns the route of a location with a single endpoint; a regex is shown behind `~`. A named location has no
 * route, since clients cannot request it.
 */
export function singleRoute(
  { name, description }: RouteDescription,
  { kind, path }: LocationFacts,
): readonly RouteDescription[] {
  return kind === 'named' ? [] : [{ name, description, path: kind === 'regex' ? `~${path}` : path }];
}

/** Returns the routes of a location with the whole inventory. */
export function inventoryRoutes(
  inventory: readonly RouteDescription[],
  location: LocationFacts,
): readonly RouteDescription[] {
  const prefix = prefixOf(location);
  const routes = inventory.map(({ name, path, description }) => ({ name, description, path: prefix + path }));
  if (location.kind === 'named') return [];
  return location.kind === 'exact' ? routes.filter(({ path }) => path === location.path) : routes;
}

/** The resources of the control surface in one worker. */
export interface ControlResources {
  readonly dictionaries: ReadonlyMap<string, Dictionary>;
  /** The routes of the whole configuration. */
  readonly routes: Routes;
  readonly worker: WorkerScope;
  readonly console: ConsoleResources | undefined;
}

/** Opens the dictionaries of the configuration and the console. */
export function openResources(
  { dictionaries = [], console }: ControlConfig,
  worker: WorkerScope,
): ControlResources {
  return {
    dictionaries: new Map(dictionaries.map((config) => [config.name, openShared(config, worker)])),
    routes: worker.share(
      `control routes ${worker.generation}`,
      () => new Routes(),
      () => undefined,
    ),
    worker,
    console: console ? openConsole(worker) : undefined,
  };
}

/** Opens a dictionary, and shares it with the other gateways of its cluster, if it has one. */
function openShared(
  { name, sizeBytes, timeoutMs, evict, cluster: named }: DictionaryConfig,
  worker: WorkerScope,
): Dictionary {
  const memory = worker.zone(name);
  const dictionary = openDictionary(memory, worker.workerId, { timeoutMs, evict });
  const cluster = named === undefined ? undefined : worker.clusters.get(named);
  if (!cluster) {
    // Entries written now must not be sent to other gateways if a later configuration shares the dictionary.
    worker.onServing(() => dictionary.shared.unshare());
    return dictionary;
  }
  const digest = `${sizeBytes}:${timeoutMs}:${evict ? 'evict' : 'keep'}`;
  worker.share(
    `shared_dict_zone ${cluster.key} ${zoneIdentity(memory)} ${digest}`,
    () => cluster.dictionaries.share({ zone: name, dictionary, memory, digest }),
    (end) => end(),
  );
  return dictionary;
}
