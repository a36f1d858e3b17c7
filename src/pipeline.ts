import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { type ConfigTree, type Glob, loadTree, placeOf, type ReadFile, Report } from '../grammar/index.ts';
import type { Catalogue, Finding, Review, ReviewOptions } from './tools/check/index.ts';
import { type CompiledGateway, compileGateway } from './compile/index.ts';
import {
  bind,
  type BoundConfig,
  type Compat,
  compatOf,
  maskedFiles,
  refusalOf,
  Registry,
  secretSpans,
  skippingAdvice,
} from './config/index.ts';
import type { ConfigText, CoreConfig, LoadFault, MasterScope, WorkerScope } from './contract/index.ts';
import type { Account, ExplainQuery } from './tools/explain/index.ts';
import { MODULES } from './modules/index.ts';
import { allLocations, type GatewayPlan, makePlan } from './plan/index.ts';
import { beginReading } from './system/index.ts';
import { VERSION } from './version.ts';

export type { Catalogue, Finding } from './tools/check/index.ts';
export type { GatewayPlan, LocalAddress } from './plan/index.ts';
/** For `tools/lookups.ts` only. */
export * as modules from './modules/index.ts';
export { type dbrestTools, hasPrograms, loadDbrestTools } from './modules/index.ts';

/** The sources of a configuration. */
export interface ConfigSource {
  /** Absolute path of the main file. */
  readonly confFile: string;
  /** The file's name in messages. */
  readonly name: string;
  /** Absolute directory to which relative paths of logs and data refer. */
  readonly prefix: string;
  /** Directives of `-g`. */
  readonly globals?: string | undefined;
  /** `-e`: the error log if the configuration names none. */
  readonly errorLog?: string | undefined;
  /** The text of the main file, if it has been read already. */
  readonly text?: string | undefined;
  /** `--compat`: what happens to directives that gw does not support; default: what the configuration says. */
  readonly compat?: Compat | undefined;
  /** Reads the configuration's files; a language server has unsaved texts. */
  readonly readFile?: ReadFile | undefined;
  /** Expands a pattern of `include`; default: in the file system. */
  readonly glob?: Glob | undefined;
}

/** The result of a load. There is a plan only if no fault refuses the configuration. */
export interface Loaded {
  readonly plan: GatewayPlan | undefined;
  readonly report: Report;
  readonly tree: ConfigTree | undefined;
  /** Absent if there is no tree. */
  readonly bound?: BoundConfig;
  /** What would let a configuration serve that is refused. */
  readonly advice?: string | undefined;
}

/** Options of a load. */
interface LoadOptions {
  /** Also reports directives without effect. */
  readonly advise?: boolean;
  /** The directives of the main context that count; default: all. No file is read for the others. */
  readonly only?: readonly string[];
}

let registry: Registry | undefined;

/** The directives of all modules. They never change, and each load needs them. */
export function allDirectives(): Registry {
  return (registry ??= new Registry(MODULES));
}

/*
 * The stages, in order: `load` turns text into a plan, in the master; `prepare` opens what all workers share;
 * `compile` turns the plan into handlers, in each worker. `review` and `explain` are for commands: they judge and follow
 * what `load` has returned.
 */

/** Turns text into a plan, by a syntax tree and a typed configuration. Opens no connection and starts no thread. */
export function load(source: ConfigSource, { advise = false, only }: LoadOptions = {}): Loaded {
  const { confFile, prefix, errorLog } = source;
  const report = new Report();
  const registry = allDirectives();
  const read = readTree(source, { report, registry });
  if (!read) return { plan: undefined, report, tree: read };
  const tree = only
    ? { ...read, directives: read.directives.filter(({ name }) => only.includes(name.value)) }
    : read;
  report.hide(secretSpans(tree, registry));

  beginReading(report, { inherits: inheritsCertificates(tree) });
  const compat = source.compat ?? compatOf(tree);
  const config = bind(tree, {
    registry,
    report,
    prefix,
    advise,
    compat,
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
    digest: textDigest(tree),
    compat,
  });
  const advice = compat === 'refuse' ? skippingAdvice(report) : undefined;
  return { plan: report.failed ? undefined : plan, report, tree, bound: config, advice };
}

/** Certificates and keys are read during the binding, which is too late to bind this directive. */
function inheritsCertificates({ directives }: ConfigTree): boolean {
  const said = directives.find(({ name }) => name.value === 'ssl_object_cache_inheritable');
  return said?.args[0]?.value.toLowerCase() === 'on';
}

/** Returns a digest of the texts of all files, as they are written. Values from the environment do not change it. */
function textDigest({ sources }: ConfigTree): string {
  const hash = createHash('sha256');
  for (const { text } of sources) hash.update(`${text.length} ${text}`);
  return hash.digest('base64url');
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
 * Returns how a start treats findings: the lowest severity that refuses the configuration, and whether findings are
 * logged.
 */
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

/** Returns the files as read, with secrets masked, and the faults of the load. */
export function configText({ tree: read, report }: Pick<Loaded, 'tree' | 'report'>): ConfigText {
  return {
    files: read ? maskedFiles(read, allDirectives()) : [],
    findings: loadFaults(report),
  };
}

/** Returns the faults of a load as data. */
export function loadFaults({ faults }: Report): readonly LoadFault[] {
  return faults.map(({ severity, message, span, hint }) => ({
    severity,
    message,
    ...(hint !== undefined && { hint }),
    ...(span && { place: placeOf(span) }),
  }));
}

/** Returns the faults of a load and the findings of the rules, in file order, except those that comments suppress. */
export async function check(loaded: Loaded, options?: ReviewOptions): Promise<readonly Finding[]> {
  return (await review(loaded, options)).findings;
}

/**
 * Works as `check`, and also returns the suppressed findings. The rules are imported on first use, so that they do not
 * delay a start.
 */
export async function review(
  { plan, report, tree, bound }: Loaded,
  options?: ReviewOptions,
): Promise<Review> {
  const { checkedConfig, liveFindings, review: reviewed } = await import('./tools/check/index.ts');
  const registry = allDirectives();
  const config =
    tree && bound && checkedConfig({ tree, bound, registry, modules: MODULES, ports: plan?.ports });
  const catalogue = await ruleCatalogue();
  const isLive = options?.live === true && config && plan;
  const live = isLive ? await liveFindings(config, { catalogue, clusters: plan.clusters }) : undefined;
  return reviewed({ report, config, catalogue, live }, options);
}

/** Returns all rules of `gw check`. The modules' rules are imported on first use. */
export async function ruleCatalogue(): Promise<Catalogue> {
  const { Catalogue: Rules } = await import('./tools/check/index.ts');
  return Rules.of(MODULES);
}

/**
 * Explains what a gateway with this plan would do with a request. Opens no files except those that the request leads
 * to. Returns a text if the request cannot be understood.
 */
export async function explain(
  { plan, tree, bound }: Pick<Loaded, 'plan' | 'tree' | 'bound'>,
  question: ExplainQuery,
): Promise<{ account: Account; print: (options: { color: boolean }) => string } | string> {
  if (!plan || !tree || !bound) throw new Error('a configuration that does not load cannot be explained');
  const explaining = await import('./tools/explain/index.ts');
  const registry = allDirectives();
  const account = await explaining.explain(question, { plan, tree, bound, registry, modules: MODULES });
  if (typeof account === 'string') return account;
  return { account, print: (options) => explaining.printAccount(account, options) };
}

/** Runs the modules' `prepare` in the master. */
export async function prepare(plan: GatewayPlan, master: MasterScope): Promise<void> {
  const locations = allLocations(plan);
  for (const module of MODULES) {
    const configs = new Set(locations.flatMap(({ modules }) => modules[module.name] ?? []));
    if (module.prepare && configs.size > 0) await module.prepare([...configs], master);
  }
}

/** Turns a plan into handlers, in a worker. */
export function compile(plan: GatewayPlan, worker: WorkerScope): Promise<CompiledGateway> {
  return compileGateway(plan, { modules: MODULES, worker });
}
