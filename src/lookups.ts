import { type ConfigTree, placeOf } from '../grammar/index.ts';
import { serverViews } from './compile/index.ts';
import {
  BlockView,
  type BoundConfig,
  combinedText,
  directiveFacts,
  type DirectiveFacts,
  dumpConfig,
  effectiveBlock,
  type EffectiveBlock,
  maskedFiles,
  referenceText,
  Registry,
} from './config/index.ts';
import {
  type ConfigText,
  type CoreConfig,
  type ServerView,
  variableFacts,
  type VariableFacts,
} from './contract/index.ts';
import {
  findLocation,
  type GatewayPlan,
  type PlacedLocation,
  placedLocations,
  printTree,
  type LocalAddress,
} from './plan/index.ts';
import { type Loaded, modules } from './pipeline.ts';

export { type dbrestTools, loadDbrestTools } from './pipeline.ts';
export type { VariableFacts } from './contract/index.ts';

/*
 * What commands and the language server ask of a configuration that was loaded, of the tables, and of single modules: beside
 * the pipeline, not a part of it.
 */

const { endpointPath, eventsFacts, MODULES } = modules;
type DbrestConfig = modules.DbrestConfig;
type EventsFacts = modules.EventsFacts;

export const { hashPassword, PASSWORD_SCHEMES } = modules;
export type PasswordScheme = modules.PasswordScheme;

/** What a start makes of what the rules find: from which severity on it refuses, and whether the error log is told. */
export function checkPolicyOf({ bound }: Loaded): {
  readonly refuses: 'error' | 'warning' | undefined;
  readonly logs: boolean;
} {
  const block = bound?.main.children.find(({ context }) => context === 'check');
  const fieldOf = (name: keyof CoreConfig): unknown => block?.own.get('core')?.get(name)?.value;
  const refuse = fieldOf('checkRefuse');
  return {
    refuses: refuse === 'error' || refuse === 'warning' ? refuse : undefined,
    logs: fieldOf('checkLog') !== false,
  };
}

/** The configuration as `-T` prints it. */
export function dump(tree: ConfigTree): string {
  return dumpConfig(tree, new Registry(MODULES));
}

/** The same as one text, with what is included in its place. */
export function combined(tree: ConfigTree): string {
  return combinedText(tree, new Registry(MODULES));
}

/** What holds in each block, as data; secrets masked. */
export function effective({ main }: BoundConfig, tree: ConfigTree): EffectiveBlock {
  const registry = new Registry(MODULES);
  return effectiveBlock(new BlockView(main, { registry, directives: tree.directives }), tree, registry);
}

/** Where requests go, as data. */
export function routes(plan: GatewayPlan): readonly ServerView[] {
  return serverViews(plan, MODULES);
}

/** What was read, secrets masked, and what was found in it. */
export function configText({ tree: read, report }: Pick<Loaded, 'tree' | 'report'>): ConfigText {
  return {
    files: read ? maskedFiles(read, new Registry(MODULES)) : [],
    findings: report.faults.map(({ severity, message, span, hint }) => ({
      severity,
      message,
      ...(hint !== undefined && { hint }),
      ...(span && { place: placeOf(span) }),
    })),
  };
}

/** Where requests go, as `-t --tree` prints it. */
export function tree(plan: GatewayPlan): string {
  return printTree(plan);
}

/** Where a gateway with this plan serves an endpoint of its control surface, if anywhere. */
export function reachEndpoint(plan: GatewayPlan, endpoint: string): LocalAddress | undefined {
  return findLocation(plan, ({ modules, match }) => endpointPath(endpoint, modules['control'] ?? {}, match));
}

/** The path of an endpoint where a location has the whole inventory below `directory`. */
export function inventoryPath(endpoint: string, directory: string): string {
  const location = { kind: 'prefix', path: directory, stop: false } as const;
  return endpointPath(endpoint, { api: '' }, location) ?? directory + endpoint;
}

/** Where a gateway with this plan serves its events, if anywhere; with the key that publishing takes, if it is fixed. */
export function reachEvents(plan: GatewayPlan): (LocalAddress & EventsFacts) | undefined {
  let facts: EventsFacts | undefined;
  const reach = findLocation(plan, ({ modules, match }) => {
    facts = eventsFacts(modules['worker_events'] ?? {}, match);
    return facts?.path;
  });
  return reach && facts && { ...facts, ...reach };
}

/** A location that serves a database. */
export type RestLocation = Omit<PlacedLocation, 'modules'> & { readonly config: DbrestConfig };

/** The locations that serve a database, in the order of the configuration. */
export function restLocations(plan: GatewayPlan): readonly RestLocation[] {
  return placedLocations(plan).flatMap(({ modules, ...place }) => {
    const config = modules['dbrest'] as DbrestConfig | undefined;
    return config ? [{ ...place, config }] : [];
  });
}

/** The directives of all modules, as editors ask for them: by context, with their readers and roles. */
export function directiveTable(): Registry {
  return new Registry(MODULES);
}

/** The directive reference. */
export function reference(): string {
  return referenceText(new Registry(MODULES));
}

/** Every directive, as people look it up. */
export function directives(): readonly DirectiveFacts[] {
  return directiveFacts(new Registry(MODULES));
}

/** Every built-in variable; of a family, the prefix and what its names continue with: `arg_*`. */
export function variables(): readonly VariableFacts[] {
  return variableFacts(MODULES);
}

/** The built-in modules, for `-V`. */
export const MODULE_NAMES: readonly string[] = MODULES.map(({ name }) => name);
