import { resolve } from 'node:path';
import type { ComplexValue } from '../../config/index.ts';
import type { LocationFacts, WorkerScope } from '../../contract/index.ts';
import { type Dictionary, openDictionary, StateFile, stateZone, zoneIdentity } from '../../zone/index.ts';
import type { KeyvalVariable, KeyvalZone } from './keyval/directives.ts';
import { type Lookup, openLookup } from './keyval/matching.ts';
import { keptEntries } from './keyval/kept-entries.ts';
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
  /** Names of checks whose failure leaves `ready` at 200; a last `*` stands for any end. */
  readonly readyOptional?: readonly string[];
  readonly dictionaries?: readonly DictionaryConfig[];
  readonly flags?: readonly FlagVariable[];
  readonly keyvals?: readonly KeyvalVariable[];
  /** True: serves requests from pages of other sites and those with unknown host names. */
  readonly crossSite: boolean;
}

/** `control_api;` without a name. */
export const WHOLE_INVENTORY = '';

/** `shared_dict_zone zone=name:size [timeout=t] [evict] [cluster=name]`, or a `keyval_zone`. */
export interface DictionaryConfig {
  readonly name: string;
  readonly sizeBytes: number;
  /** 0: entries stay until they are deleted. */
  readonly timeoutMs: number;
  readonly evict: boolean;
  /** The cluster whose gateways share its entries. */
  readonly cluster?: string;
  /** The only cluster of the configuration shares its entries, if there is one. */
  readonly isSynced?: true;
  /** Present if the API of keyval zones serves it. */
  readonly keyval?: KeyvalZone;
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
  /** How `keyval` variables find values, by zone. */
  readonly lookups: ReadonlyMap<string, Lookup>;
  /** The routes of the whole configuration. */
  readonly routes: Routes;
  readonly worker: WorkerScope;
  readonly console: ConsoleResources | undefined;
}

/** Opens the dictionaries of the configuration, with the entries that files keep, and the console. */
export async function openResources(
  { dictionaries = [], keyvals = [], console }: ControlConfig,
  worker: WorkerScope,
): Promise<ControlResources> {
  const opened = new Map<string, Dictionary>();
  const lookups = new Map<string, Lookup>();
  for (const config of dictionaries) {
    const { name, keyval } = config;
    const dictionary = openOwn(config, worker);
    opened.set(name, dictionary);
    if (keyval?.state !== undefined) await keepState(config, dictionary, worker);
    share(config, dictionary, worker);
    if (keyvals.every(({ zone }) => zone !== name)) continue;
    lookups.set(name, await followKeys(config, dictionary, worker));
  }
  return {
    dictionaries: opened,
    lookups,
    routes: worker.share(
      `control routes ${worker.generation}`,
      () => new Routes(),
      () => undefined,
    ),
    worker,
    console: console ? openConsole(worker) : undefined,
  };
}

function openOwn({ name, timeoutMs, evict }: DictionaryConfig, worker: WorkerScope): Dictionary {
  return openDictionary(worker.zone(name), worker.workerId, { timeoutMs, evict });
}

/** A change is in the file within a second, with the time of the write. */
const STATE_LATE_MS = 800;

/** Keeps the entries in a file. Resolves when the dictionary has those of the last start. */
async function keepState(
  { name, sizeBytes, keyval }: DictionaryConfig,
  dictionary: Dictionary,
  worker: WorkerScope,
): Promise<void> {
  const state = keyval?.state ?? '';
  const [path, memory] = [resolve(worker.prefix, state), worker.zone(name)];
  const agreement = worker.zone(stateZone({ name, sizeBytes, state }).name);
  const file = worker.share(
    `keyval state ${path} ${zoneIdentity(memory)}`,
    () => {
      const entries = keptEntries(dictionary);
      const kept = { path, what: `keyval zone "${name}"`, sizeBytes, entries, memory, agreement };
      return new StateFile({ ...kept, lateMs: STATE_LATE_MS }, worker);
    },
    (opened) => opened.close(),
  );
  await file.ready;
}

/** Returns the lookup of a keyval zone. Its index outlives the configuration, as the zone does. */
async function followKeys(
  { name, keyval }: DictionaryConfig,
  dictionary: Dictionary,
  worker: WorkerScope,
): Promise<Lookup> {
  const matching = keyval?.matching ?? 'string';
  const { lookup, ready } = worker.share(
    `keyval ${matching} ${zoneIdentity(worker.zone(name))}`,
    () => openLookup(dictionary, matching),
    () => undefined,
  );
  await ready;
  return lookup;
}

/** Shares a dictionary with the other gateways of its cluster, if it has one. */
function share(
  { name, sizeBytes, timeoutMs, evict, cluster: named, isSynced }: DictionaryConfig,
  dictionary: Dictionary,
  worker: WorkerScope,
): void {
  const only = isSynced ? [...worker.clusters.values()][0] : undefined;
  const cluster = named === undefined ? only : worker.clusters.get(named);
  if (!cluster) {
    // Entries written now must not be sent to other gateways if a later configuration shares the dictionary.
    worker.onServing(() => dictionary.shared.unshare());
    return;
  }
  const memory = worker.zone(name);
  const digest = `${sizeBytes}:${timeoutMs}:${evict ? 'evict' : 'keep'}`;
  worker.share(
    `shared_dict_zone ${cluster.key} ${zoneIdentity(memory)} ${digest}`,
    () => cluster.dictionaries.share({ zone: name, dictionary, memory, digest }),
    (end) => end(),
  );
}
