import { dirname } from 'node:path';
import { type ConfigTree, type Glob, loadTree, type ReadFile, Report } from '../grammar/index.ts';
import type { Catalogue, Finding, Review, ReviewOptions } from './check/index.ts';
import { type CompiledGateway, compileGateway } from './compile/index.ts';
import { bind, type BoundConfig, refusalOf, Registry, secretSpans } from './config/index.ts';
import type { MasterScope, WorkerScope } from './contract/index.ts';
import type { Account, Question } from './explain/index.ts';
import { MODULES } from './modules/index.ts';
import { allLocations, type GatewayPlan, makePlan } from './plan/index.ts';
import { VERSION } from './version.ts';

export type { Finding, Review, ReviewOptions } from './check/index.ts';
export type { GatewayPlan, LocalAddress } from './plan/index.ts';
/** For the lookups; nothing else sees modules. */
export * as modules from './modules/index.ts';
export { type dbrestTools, loadDbrestTools } from './modules/index.ts';

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
  source: ConfigSource,
  { advise = false, skipUnsupported = false }: LoadOptions = {},
): Loaded {
  const { confFile, prefix, errorLog } = source;
  const report = new Report();
  const registry = new Registry(MODULES);
  const tree = readTree(source, { report, registry });
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
    skipUnsupported,
  });
  return { plan: report.failed ? undefined : plan, report, tree, bound: config };
}

function readTree(
  { confFile, name, globals, text, readFile, glob }: ConfigSource,
  { report, registry }: { readonly report: Report; readonly registry: Registry },
): ConfigTree | undefined {
  return loadTree({
    file: confFile,
    name,
    env: process.env,
    report,
    knownDirective: (directive) => registry.named(directive).length > 0 || refusalOf(directive) !== undefined,
    opensBlock: (directive) => registry.named(directive).some(({ row }) => 'opens' in row || 'data' in row),
    ...(globals !== undefined && { globals }),
    ...(text !== undefined && { text }),
    ...(readFile && { readFile }),
    ...(glob && { glob }),
  });
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
  const { checkedConfig, liveFindings, review: reviewed } = await import('./check/index.ts');
  const registry = new Registry(MODULES);
  const config = tree && bound && checkedConfig({ tree, bound, registry, modules: MODULES });
  const catalogue = await ruleCatalogue();
  const live = options?.live === true && config && plan ? await liveFindings(config, catalogue) : undefined;
  return reviewed({ report, config, catalogue, live }, options);
}

/** Every rule of `gw check`; those of the modules are read when they are first asked for, too. */
export async function ruleCatalogue(): Promise<Catalogue> {
  const { Catalogue: Rules } = await import('./check/index.ts');
  return Rules.of(MODULES);
}

/**
 * What a gateway with this plan would do with a request, and the account as people read it. Opens nothing but the files that
 * the request leads to. A text: the request cannot be understood.
 */
export async function explain(
  { plan, tree, bound }: Pick<Loaded, 'plan' | 'tree' | 'bound'>,
  question: Question,
): Promise<{ account: Account; print: (options: { color: boolean }) => string } | string> {
  if (!plan || !tree || !bound) throw new Error('a configuration that does not load cannot be explained');
  const explaining = await import('./explain/index.ts');
  const registry = new Registry(MODULES);
  const account = await explaining.explain(question, { plan, tree, bound, registry, modules: MODULES });
  if (typeof account === 'string') return account;
  return { account, print: (options) => explaining.printAccount(account, options) };
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
