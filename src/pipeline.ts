import { dirname } from 'node:path';
import { loadTree, placeOf, Report } from '../grammar/index.ts';
import type { ConfigTree, Glob, ReadFile } from '../grammar/index.ts';
import type { Finding, Review, ReviewOptions } from './check/index.ts';
import { compileGateway, serverViews } from './compile/index.ts';
import type { CompiledGateway } from './compile/index.ts';
import {
  bind,
  BlockView,
  combinedText,
  directiveFacts,
  dumpConfig,
  effectiveBlock,
  maskedFiles,
  referenceText,
  refusalOf,
  Registry,
  secretSpans,
} from './config/index.ts';
import type { BoundConfig, DirectiveFacts, EffectiveBlock } from './config/index.ts';
import { variableFacts } from './contract/index.ts';
import type { ConfigText, MasterScope, ServerView, VariableFacts, WorkerScope } from './contract/index.ts';
import { endpointPath, eventsFacts, MODULES } from './modules/index.ts';
import type { DbrestConfig, EventsFacts } from './modules/index.ts';
import { allLocations, findLocation, makePlan, placedLocations, printTree } from './plan/index.ts';
import type { GatewayPlan, PlacedLocation, Reach } from './plan/index.ts';
import { VERSION } from './version.ts';

export type { Finding, Review, ReviewOptions } from './check/index.ts';
export type { VariableFacts } from './contract/index.ts';
export type { GatewayPlan, Reach } from './plan/index.ts';
export {
  checkToken,
  decodeToken,
  describeApi,
  dumpSchema,
  hashPassword,
  PASSWORD_SCHEMES,
  signToken,
} from './modules/index.ts';
export type { DecodedToken, PasswordScheme, TokenVerdict } from './modules/index.ts';

/** Where a configuration comes from. */
export interface ConfigSource {
  /** Absolute path of the main file. */
  readonly confFile: string;
  /** The file as messages print it. */
  readonly name: string;
  /** Absolute directory that relative paths of logs and data start from. */
  readonly prefix: string;
  /** Directives of `-g`. */
  readonly globals?: string | undefined;
  /** `-e`: where errors go when the configuration does not say. */
  readonly errorLog?: string | undefined;
  /** The text of the main file, when it has been read already. */
  readonly text?: string | undefined;
  /** Reads the files of the configuration: an editor has texts that are not saved yet. */
  readonly readFile?: ReadFile | undefined;
  /** Which files a pattern of `include` means, where they are not those of the file system. */
  readonly glob?: Glob | undefined;
}

/** What came out of a load: the plan only when nothing refuses it. */
export interface Loaded {
  readonly plan: GatewayPlan | undefined;
  readonly report: Report;
  readonly tree: ConfigTree | undefined;
  /** Absent where there is no tree. */
  readonly bound?: BoundConfig;
}

/** How a load looks at a configuration. */
export interface LoadOptions {
  /** Also notes what is of no effect. */
  readonly advise?: boolean;
  /** Leaves out the directives that gw will not have, instead of refusing the configuration. */
  readonly skipUnsupported?: boolean;
}

/** Text to plan. Reads files, opens no connection, starts no thread. */
export function load(
  { confFile, name, prefix, globals, errorLog, text, readFile, glob }: ConfigSource,
  { advise = false, skipUnsupported = false }: LoadOptions = {},
): Loaded {
  const report = new Report();
  const registry = new Registry(MODULES);
  const knownDirective = (directive: string): boolean =>
    registry.named(directive).length > 0 || refusalOf(directive) !== undefined;
  const tree = loadTree({
    file: confFile,
    name,
    env: process.env,
    report,
    knownDirective,
    ...(globals !== undefined && { globals }),
    ...(text !== undefined && { text }),
    ...(readFile && { readFile }),
    ...(glob && { glob }),
  });
  if (!tree) return { plan: undefined, report, tree };
  report.hide(secretSpans(tree, registry));

  const config = bind(tree, {
    registry,
    report,
    prefix,
    advise,
    skipUnsupported,
    confDir: dirname(confFile),
  });
  const plan = makePlan(config, {
    registry,
    modules: MODULES,
    report,
    prefix,
    confFile,
    errorLog,
    version: VERSION,
  });
  return { plan: report.failed ? undefined : plan, report, tree, bound: config };
}

/**
 * Everything that is wrong with what was loaded, in the order of reading, less what its comments ignore: the faults of the
 * load, and what the rules find.
 */
export async function check(loaded: Loaded, options?: ReviewOptions): Promise<readonly Finding[]> {
  return (await review(loaded, options)).findings;
}

/** As `check`, with what is ignored beside it. The rules are read when they are first needed: no start waits for them. */
export async function review(
  { plan, report, tree, bound }: Loaded,
  options?: ReviewOptions,
): Promise<Review> {
  const { checkedConfig, review: reviewed } = await import('./check/index.ts');
  const registry = new Registry(MODULES);
  const config = tree && bound && checkedConfig({ tree, bound, registry, modules: MODULES, plan });
  return reviewed({ report, config }, options);
}

/** Opens what the process as a whole needs for a plan, in the master. */
export async function prepare(plan: GatewayPlan, master: MasterScope): Promise<void> {
  const locations = allLocations(plan);
  for (const module of MODULES) {
    const configs = new Set(locations.flatMap(({ modules }) => modules[module.name] ?? []));
    if (module.prepare && configs.size > 0) await module.prepare([...configs], master);
  }
}

/** Plan to handlers, in a worker. */
export function compile(plan: GatewayPlan, worker: WorkerScope): Promise<CompiledGateway> {
  return compileGateway(plan, { modules: MODULES, worker });
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
export function reachEndpoint(plan: GatewayPlan, endpoint: string): Reach | undefined {
  return findLocation(plan, ({ modules, match }) => endpointPath(endpoint, modules['control'] ?? {}, match));
}

/** The path of an endpoint where a location has the whole inventory below `directory`. */
export function inventoryPath(endpoint: string, directory: string): string {
  const location = { kind: 'prefix', path: directory, stop: false } as const;
  return endpointPath(endpoint, { api: '' }, location) ?? directory + endpoint;
}

/** Where a gateway with this plan serves its events, if anywhere; with the key that publishing takes, if it is fixed. */
export function reachEvents(plan: GatewayPlan): (Reach & EventsFacts) | undefined {
  let facts: EventsFacts | undefined;
  const reach = findLocation(plan, ({ modules, match }) => {
    facts = eventsFacts(modules['worker_events'] ?? {}, match);
    return facts?.path;
  });
  return reach && facts && { ...facts, ...reach };
}

/** A location that serves a database. */
export type RestPlace = Omit<PlacedLocation, 'modules'> & { readonly config: DbrestConfig };

/** The locations that serve a database, in the order of the configuration. */
export function restPlaces(plan: GatewayPlan): readonly RestPlace[] {
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
