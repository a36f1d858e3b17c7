import type { ConfigTree } from '../../grammar/index.ts';
import { serverViews } from '../compile/index.ts';
import {
  BlockView,
  type BoundConfig,
  combinedText,
  directiveFacts,
  type DirectiveFacts,
  dumpConfig,
  effectiveBlock,
  type EffectiveBlock,
  referenceText,
} from '../config/index.ts';
import type { AcmePlan } from '../acme/index.ts';
import {
  type AcmeServerConfig,
  acmePlanOf,
  type ServerView,
  variableFacts,
  type VariableFacts,
} from '../contract/index.ts';
import {
  allLocations,
  findLocation,
  type GatewayPlan,
  type PlacedLocation,
  placedLocations,
  printTree,
  type LocalAddress,
} from '../plan/index.ts';
import { allDirectives, modules } from '../pipeline.ts';

export { allDirectives, type dbrestTools, loadDbrestTools } from '../pipeline.ts';
export type { VariableFacts } from '../contract/index.ts';

/*
 * Queries of commands and the language server about a loaded configuration, the directive tables and single modules.
 * They are not a part of the pipeline.
 */

const { endpointPath, eventsEndpoint, MODULES } = modules;
type DbrestConfig = modules.DbrestConfig;
type DynamicUpstreamsConfig = modules.DynamicUpstreamsConfig;
type CachePurgeConfig = modules.CachePurgeConfig;
type EventsEndpoint = modules.EventsEndpoint;
type ControlConfig = modules.ControlConfig;

export const { hashPassword, isKeyId, PASSWORD_SCHEMES } = modules;
export type PasswordScheme = modules.PasswordScheme;

/** Returns the configuration as `-T` prints it. */
export function dump(tree: ConfigTree, prefix: string): string {
  return dumpConfig(tree, allDirectives(), prefix);
}

/** Returns the configuration as one text, with included files in the place of `include`. */
export function combined(tree: ConfigTree): string {
  return combinedText(tree, allDirectives());
}

/** Returns the effective configuration of each block as data, with secrets masked. */
export function effective({ main }: BoundConfig, tree: ConfigTree): EffectiveBlock {
  const registry = allDirectives();
  return effectiveBlock(new BlockView(main, { registry, directives: tree.directives }), tree, registry);
}

/** Returns the servers and locations as data. */
export function routes(plan: GatewayPlan): readonly ServerView[] {
  return serverViews(plan, MODULES);
}

/** Returns the location tree as `-t --tree` prints it. */
export function tree(plan: GatewayPlan): string {
  return printTree(plan);
}

/** Returns how to reach an endpoint of the control surface, if the plan serves it. */
export function reachEndpoint(plan: GatewayPlan, endpoint: string): LocalAddress | undefined {
  return findLocation(plan, ({ modules, match }) => endpointPath(endpoint, modules['control'] ?? {}, match));
}

/** Returns the path of an endpoint if a location serves the whole inventory below `directory`. */
export function inventoryPath(endpoint: string, directory: string): string {
  const location = { kind: 'prefix', path: directory, stop: false } as const;
  return endpointPath(endpoint, { api: '' }, location) ?? directory + endpoint;
}

/** Returns the names of the flags that `feature_flag` reads. */
export function flagsRead(plan: GatewayPlan): ReadonlySet<string> {
  const configs = allLocations(plan).map(
    ({ modules }) => modules['control'] as Partial<ControlConfig> | undefined,
  );
  return new Set(configs.flatMap((config) => config?.flags?.map(({ flag }) => flag) ?? []));
}

/** Returns how to reach the event stream, if the plan serves it, and the key for publishing if it is a fixed text. */
export function reachEvents(plan: GatewayPlan): (LocalAddress & EventsEndpoint) | undefined {
  let endpoint: EventsEndpoint | undefined;
  const reach = findLocation(plan, ({ modules, match }) => {
    endpoint = eventsEndpoint(modules['worker_events'] ?? {}, match);
    return endpoint?.path;
  });
  return reach && endpoint && { ...endpoint, ...reach };
}

/** Returns how to reach the API of each managed group, by the name of the group. */
export function reachGroups(plan: GatewayPlan): ReadonlyMap<string, LocalAddress> {
  const found = new Map<string, LocalAddress>();
  for (const { modules } of placedLocations(plan)) {
    const target = groupOf(modules['dynamic_upstreams']);
    if (target === undefined || found.has(target)) continue;
    const reach = findLocation(plan, ({ modules: own, match }) =>
      groupOf(own['dynamic_upstreams']) === target && (match?.kind === 'prefix' || match?.kind === 'exact')
        ? match.path
        : undefined,
    );
    if (reach) found.set(target, reach);
  }
  return found;
}

/** The group of `dynamic_upstreams_api`, if the location has it. */
function groupOf(config: Partial<DynamicUpstreamsConfig> | undefined): string | undefined {
  return config?.api ? config.target : undefined;
}

/** A location with `cache_purge_api`. */
export interface PurgeLocation {
  readonly zone: string;
  readonly match: CachePurgeConfig['match'];
  readonly reach: LocalAddress;
}

/** Returns how to reach the APIs that purge caches, in the order of the configuration. */
export function reachPurges(plan: GatewayPlan): readonly PurgeLocation[] {
  return placedLocations(plan).flatMap(({ modules }) => {
    const config = modules['cache_purge'] as CachePurgeConfig | undefined;
    const { api, zone, match } = config ?? {};
    if (!api || zone === undefined || match === undefined) return [];
    const reach = findLocation(plan, ({ modules: own, match: place }) =>
      own['cache_purge'] === config && (place?.kind === 'prefix' || place?.kind === 'exact')
        ? place.path
        : undefined,
    );
    return reach ? [{ zone, match, reach }] : [];
  });
}

/** A location that serves a database. */
export type RestLocation = Omit<PlacedLocation, 'modules'> & { readonly config: DbrestConfig };

/** Returns the locations that serve a database, in the order of the configuration. */
export function restLocations(plan: GatewayPlan): readonly RestLocation[] {
  return placedLocations(plan).flatMap(({ modules, ...location }) => {
    const config = modules['dbrest'] as DbrestConfig | undefined;
    return config ? [{ ...location, config }] : [];
  });
}

/** Returns what a configuration says about certificates by ACME. */
export function acmePlan({ servers }: GatewayPlan): AcmePlan {
  return acmePlanOf(
    servers.flatMap(({ root }) => (root.modules['acme'] as AcmeServerConfig | undefined)?.served ?? []),
  );
}

/** Returns the directive reference as Markdown. */
export function reference(): string {
  return referenceText(allDirectives(), variablesText());
}

/** Returns the section of the reference that has a table of variables for each module. */
function variablesText(): string {
  const all = variables();
  const tables = [...new Set(all.map(({ module }) => module))].map((module) => {
    const rows = all
      .filter((variable) => variable.module === module)
      .map(({ name, summary, settable }) => {
        const text = summary.replaceAll('|', '\\|');
        return `| \`$${name}\` | ${text}${settable ? ' `set` may change it.' : ''} |\n`;
      });
    return `### ${module}\n\n| Variable | |\n| --- | --- |\n${rows.join('')}`;
  });
  const head =
    'Every variable, by the module that has it. `*` is a part of the name that the configuration chooses.';
  return `## Variables\n\n${head}\n\n${tables.join('\n')}`;
}

/** Returns all directives with their documentation. */
export function directives(): readonly DirectiveFacts[] {
  return directiveFacts(allDirectives());
}

/** Returns all built-in variables. A family is listed as its prefix and `*`: `arg_*`. */
export function variables(): readonly VariableFacts[] {
  return variableFacts(MODULES);
}

/** The built-in modules, for `-V`. */
export const MODULE_NAMES: readonly string[] = MODULES.map(({ name }) => name);
