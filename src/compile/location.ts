import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  AnyModule,
  Build,
  CoreConfig,
  LocationFacts,
  LocationMatch,
  HandshakeHandlers,
  LocationParts,
  ServerName,
  VariableDefinition,
  WorkerScope,
} from '../contract/index.ts';
import {
  type Exchange,
  type Handler,
  logContext,
  type LogStep,
  type RangeRules,
  type ResponseRules,
  type Router,
} from '../http/index.ts';
import { type LocationPlan, locationText } from '../plan/index.ts';
import type { TokenReader } from '../tokens/index.ts';
import { compileAccess } from './access.ts';
import { type BuildContext, LocationBuild } from './location-build.ts';
import {
  compileErrorPages,
  compilePostAction,
  connectionRules,
  redirectRules,
  serverTokens,
} from './location-rules.ts';
import { compileLogTags, compileRequestCounter, isCounted } from './logs.ts';
import { AFTER_REWRITE, type AfterRewrite, enter, rewriteSequence, sequence } from './phases.ts';

/** The longest time for which a compile blocks the thread. During a reload, requests are served in between. */
const TURN_MS = 10;

/** Divides a long compile into several turns of the event loop. */
export class Turns {
  #sinceMs = performance.now();

  /** Call this regularly and await the result. It waits only if the current turn has lasted long enough. */
  async take(): Promise<void> {
    if (performance.now() - this.#sinceMs < TURN_MS) return;
    await nextTurn();
    this.#sinceMs = performance.now();
  }
}

/** A compiled location. */
export interface LocationHandler {
  readonly rules: ResponseRules;
  readonly internal: boolean;
  /** The peer's address is needed, possibly after the connection has closed. */
  readonly needsPeer: boolean;
  readonly slashRedirect: boolean;
  /** On server level: runs before everything else. */
  readonly postRead: Handler | undefined;
  /** Runs before the size of the body and `internal` are looked at. */
  readonly entering: ((x: Exchange) => void) | undefined;
  readonly rewrite: Handler | undefined;
  /** The access phase alone, for the requests inside a batch. */
  readonly access: Handler | undefined;
  /** The phases after the rewrite phase. */
  readonly respond: Handler;
  /** The module whose content handler it has. */
  readonly servedBy: string | undefined;
  /** `limit_except`: the handler for methods that are not listed. */
  readonly except: { readonly methods: ReadonlySet<string>; readonly handler: LocationHandler } | undefined;
  readonly handshakes: HandshakeHandlers;
}

/** The values that the locations of one server share. */
export interface LocationContext extends BuildContext {
  readonly worker: WorkerScope;
  readonly version: string;
  readonly countsRequests: boolean;
  readonly requestTail: LogStep | undefined;
  /** Routes requests within the server. */
  readonly router: Router;
  readonly serverNames: readonly ServerName[];
  readonly origins: Build['origins'];
  /** The server's name in metrics. */
  readonly server: string;
  /** The results of `provision` by config object. Locations that share a config share its resources. */
  readonly provisioned: Map<object, unknown>;
  readonly turns: Turns;
  readonly shared: SharedHandlers;
}

/** Opens the resources of a location and compiles its phases. */
export async function compileLocation(
  plan: LocationPlan,
  context: LocationContext,
  nameless = false,
): Promise<LocationHandler> {
  const blocks = await compileBlocks(plan, context);
  const used = await provisionModules(plan, context);
  const own = {
    core: plan.core,
    serverNames: context.serverNames,
    origins: context.origins,
    defined: Object.assign({}, ...used.map(({ defines }) => defines)) as UsedModule['defines'],
    tokens: used.find(({ tokens }) => tokens)?.tokens,
    blocks: blocks.ifs,
  };
  const newBuild = () => new LocationBuild({ ...factsOf(plan), nameless }, own, context);
  const defining = used.filter(definesValues).map(({ config }) => config);
  const compiled = compileParts(plan, used, { context, newBuild, defining });
  const { watch } = context;
  const { rules, needsPeer } = rulesOf(plan, compiled, { context, newBuild, defining });
  watch?.rules(rules, plan);
  const parts = compiled.map((part) => part.parts);
  const rewrite = parts.flatMap((part) => part.rewrite ?? []);
  const postRead = parts.flatMap((part) => part.postRead ?? []);
  const entering = parts.flatMap((part) => part.entering ?? []);
  return {
    rules,
    needsPeer: needsPeer || compiled.some((part) => part.needsPeer) || logsClientAborts(plan.core),
    internal: plan.core.internal === true,
    slashRedirect: parts.some(({ slashRedirect }) => slashRedirect),
    except: blocks.except,
    entering: entering.length > 1 ? (x) => entering.forEach((enters) => enters(x)) : entering[0],
    postRead: postRead.length > 0 ? sequence(postRead) : undefined,
    rewrite: rewriteOf(plan, rewrite.length > 0 ? [...identifying(parts), ...rewrite] : []),
    access: rehearsedAccess(plan, compiled, context),
    handshakes: Object.assign({}, ...parts.map(({ handshakes }) => handshakes)) as HandshakeHandlers,
    respond: respondOf(watch ? withoutAuthDelay(plan) : plan, compiled, context),
    servedBy: used[parts.findIndex(({ content }) => content)]?.module.name,
  };
}

/** The contribution of a module to a location. */
interface CompiledPart {
  /** The name of the module. */
  readonly module: string;
  readonly parts: LocationParts;
  readonly needsPeer: boolean;
  /** True if it was compiled without reading its location. */
  readonly isShared: boolean;
}

/** The compiled parts that the locations of a server share, by the objects that they were compiled from. */
interface SharedHandlers {
  readonly parts: ByOrigins<CompiledPart>;
  readonly rules: ByOrigins<CompiledRules>;
  readonly respond: ByOrigins<Handler>;
}

export function noSharedHandlers(): SharedHandlers {
  return { parts: new ByOrigins(), rules: new ByOrigins(), respond: new ByOrigins() };
}

interface CompiledRules {
  readonly rules: ResponseRules;
  readonly needsPeer: boolean;
}

interface PartsContext {
  readonly context: LocationContext;
  readonly newBuild: () => LocationBuild;
  /** The configs that define variables. */
  readonly defining: readonly object[];
}

/**
 * Compiles the modules of a location. Most of ten thousand locations differ in one directive, so locations of a server
 * that have the same configs share parts, unless a module has read its location.
 */
function compileParts(
  plan: LocationPlan,
  used: readonly UsedModule[],
  { context, newBuild, defining }: PartsContext,
): readonly CompiledPart[] {
  const { watch, shared } = context;
  return used.map(({ module, config, resources }) => {
    const slot = shared.parts.slot([plan.core, ...defining, config]);
    if (slot.value) return slot.value;
    const build = newBuild();
    const own = module.compile(config, resources, build);
    const { needsPeer } = build;
    if (watch) {
      const parts = watch.parts(own, { plan, module, config, resources, build });
      return { module: module.name, parts, needsPeer, isShared: false };
    }
    const part = { module: module.name, parts: own, needsPeer, isShared: build.share() };
    if (part.isShared) slot.value = part;
    return part;
  });
}

/** Returns a shared value if it depends on nothing but configs and shared parts. */
function sharedBy<T>(
  values: ByOrigins<T>,
  configs: readonly object[],
  { used, make }: { readonly used: readonly CompiledPart[]; readonly make: () => T },
): T {
  if (!used.every(({ isShared }) => isShared)) return make();
  const slot = values.slot([...configs, ...used.map(({ parts }) => parts)]);
  return (slot.value ??= make());
}

/**
 * The message about a client that closed its connection has the level `info` and shows the client's address, which is
 * no longer available by then.
 */
function logsClientAborts({ errorLogs = [] }: CoreConfig): boolean {
  return errorLogs.some(({ level }) => level === 'info' || level === 'debug');
}

/** Removes the delay of 401 responses, for `gw explain`. */
function withoutAuthDelay(plan: LocationPlan): LocationPlan {
  return { ...plan, core: { ...plan.core, authDelayMs: 0 } };
}

/** The phases after the rewrite phase. */
function respondOf(plan: LocationPlan, compiled: readonly CompiledPart[], context: LocationContext): Handler {
  const { core } = plan;
  const used = compiled.filter(({ parts: { identify, preaccess, access, precontent, content } }) =>
    Boolean(identify ?? preaccess ?? access ?? precontent ?? content),
  );
  const make = (): Handler => {
    const parts = used.map((part) => part.parts);
    const all = (phase: 'preaccess' | 'precontent'): Handler[] => parts.flatMap((part) => part[phase] ?? []);
    const access = accessOf(plan, used, context) ?? [];
    const content = parts.find((part) => part.content)?.content ?? notFound;
    return sequence([...identifying(parts), ...all('preaccess'), access, all('precontent'), content].flat());
  };
  return sharedBy(context.shared.respond, [core], { used, make });
}

/** The access phase alone. Who asks must be known before it. */
function rehearsedAccess(
  plan: LocationPlan,
  compiled: readonly CompiledPart[],
  context: LocationContext,
): Handler | undefined {
  const access = accessOf(plan, compiled, context);
  return access && sequence([...identifying(compiled.map(({ parts }) => parts)), access]);
}

function identifying(parts: readonly LocationParts[]): readonly Handler[] {
  return parts.flatMap(({ identify }) => identify ?? []);
}

function accessOf(
  { core }: LocationPlan,
  compiled: readonly CompiledPart[],
  { errorLogs }: LocationContext,
): Handler | undefined {
  const checks = compiled.flatMap(({ module, parts: { access } }) =>
    access ? [{ module, check: access }] : [],
  );
  return compileAccess(checks, core, errorLogs.of(core.errorLogs));
}

function rewriteOf({ core: { skipped } }: LocationPlan, steps: readonly Handler[]): Handler | undefined {
  if (skipped !== undefined) return notServed(skipped);
  return steps.length > 0 ? rewriteSequence(steps) : undefined;
}

/**
 * Responds where the configuration needs an unsupported directive and loads nevertheless (`compat skip`). No
 * `error_page` applies, because it could change the status.
 */
function notServed(directive: string): Handler {
  return (x) => {
    x.writeLog(`not served: "${directive}" is not supported`);
    x.errorPagesEnded = true;
    x.end(501);
  };
}

interface Blocks {
  readonly ifs: ReadonlyMap<number, Handler>;
  readonly except: LocationHandler['except'];
}

async function compileBlocks({ blocks = [] }: LocationPlan, context: LocationContext): Promise<Blocks> {
  const ifs = new Map<number, Handler>();
  let except: LocationHandler['except'];
  for (const { kind, nth, args, plan } of blocks) {
    const handler = await compileLocation(plan, context, true);
    if (kind === 'if') ifs.set(nth, enterBlock(handler, passes(plan, context.modules)));
    else except = { methods: new Set(args as readonly string[]), handler };
  }
  return { ifs, except };
}

/** True if a directive such as `proxy_pass` responds in a location. */
function passes({ modules }: LocationPlan, known: readonly AnyModule[]): boolean {
  return known.some(({ name, content = [] }) =>
    [content]
      .flat()
      .some((key) => (modules[name] as Record<string, unknown> | undefined)?.[key] !== undefined),
  );
}

/**
 * Enters an `if` block. The last one entered replaces the location (nginx ngx_http_script_if_code). But if an earlier
 * one forwards requests and the last does not, the request is forwarded without an upstream, which fails.
 */
function enterBlock(
  { rules, needsPeer, rewrite, respond, servedBy }: LocationHandler,
  doesPass: boolean,
): Handler {
  const own: AfterRewrite = { passes: doesPass, respond, servedBy };
  const lost: AfterRewrite = { passes: true, respond: failWithoutUpstream, servedBy: undefined };
  return (x: Exchange) => {
    const isLost = !doesPass && x.state(AFTER_REWRITE)?.passes === true;
    enter(x, rules);
    if (needsPeer) x.wire.keepPeer();
    x.setState(AFTER_REWRITE, isLost ? lost : own);
    return rewrite?.(x);
  };
}

function failWithoutUpstream(x: Exchange): void {
  x.writeLog('no upstream in the last "if" that was true, while an earlier one passes requests on');
  x.end(500);
}

/** A module that is used in this location. */
interface UsedModule {
  readonly module: AnyModule;
  readonly config: object;
  readonly resources: unknown;
  /** The variables that the config defines, by name. */
  readonly defines: Readonly<Record<string, VariableDefinition>>;
  readonly tokens: ((build: Build) => TokenReader) | undefined;
}

/** True for a module that other modules' values depend on: by variables that it defines, or by the claims of tokens. */
function definesValues({ defines, tokens }: UsedModule): boolean {
  return tokens !== undefined || Object.keys(defines).length > 0;
}

const notFound: Handler = (x) => x.end(404);

async function provisionModules(plan: LocationPlan, context: LocationContext): Promise<UsedModule[]> {
  const used: UsedModule[] = [];
  for (const module of context.modules) {
    const config = plan.modules[module.name];
    if (!config) continue;
    const resources = await provision(module, config, context);
    const defines = module.defines?.(config, resources) ?? {};
    const tokens = module.verifiesTokens?.(config)
      ? (build: Build) => module.tokens!(config, resources, build)
      : undefined;
    used.push({ module, config, resources, defines, tokens });
  }
  return used;
}

async function provision(module: AnyModule, config: object, context: LocationContext): Promise<unknown> {
  if (!module.provision) return undefined;
  if (!context.provisioned.has(config)) {
    context.provisioned.set(config, await module.provision(config, context.worker));
  }
  return context.provisioned.get(config);
}

interface RulesContext {
  readonly context: LocationContext;
  readonly build: LocationBuild;
}

function rulesOf(
  plan: LocationPlan,
  compiled: readonly CompiledPart[],
  { context, newBuild, defining }: PartsContext,
): CompiledRules {
  const used = compiled.filter(
    ({ parts: { filter, bodyFilter, log, tooLarge, ownErrors, quiet, requestId } }) =>
      Boolean(filter ?? bodyFilter ?? log ?? tooLarge ?? ownErrors ?? quiet ?? requestId),
  );
  const make = (): CompiledRules => {
    const build = newBuild();
    const rules = compileRules(
      plan,
      used.map(({ parts }) => parts),
      { context, build },
    );
    return { rules, needsPeer: build.needsPeer };
  };
  // The watch identifies locations by their rules, and requests are counted by location.
  if (context.watch || context.countsRequests) return make();
  return sharedBy(context.shared.rules, [plan.core, ...defining], { used, make });
}

interface CountedParts {
  readonly core: CoreConfig;
  readonly match: LocationMatch | undefined;
}

function compileCounting(
  { core: { metricsLocation }, match }: CountedParts,
  { server, countsRequests }: LocationContext,
  { metrics }: LocationBuild,
): readonly LogStep[] {
  const own = match ? locationText(match) : '';
  const counted = { server, location: metricsLocation === true ? own : metricsLocation };
  return countsRequests && isCounted(counted) ? [compileRequestCounter(metrics, counted)] : [];
}

function shownBy(
  parts: readonly LocationParts[],
  { errorLogTags }: CoreConfig,
  build: LocationBuild,
): ResponseRules['shown'] {
  return {
    requestId: parts.find((part) => part.requestId)?.requestId,
    logTags: compileLogTags(errorLogTags, build),
  };
}

function compileRules(
  { core, match }: LocationPlan,
  parts: readonly LocationParts[],
  { context, build }: RulesContext,
): ResponseRules {
  const { log } = build;
  const { watch } = context;
  if (core.msiePadding || core.msieRefresh) build.needHeader('user-agent');
  const logs = parts.flatMap((part) => part.log ?? []);
  const counting = compileCounting({ core, match }, context, build);
  const watching = parts.some(({ quiet }) => quiet) ? [] : [...counting, context.requestTail ?? []].flat();
  return {
    defaultType: core.defaultType,
    maxBodyBytes: core.maxBodyBytes,
    bodyTimeoutMs: core.bodyTimeoutMs,
    sendTimeoutMs: core.sendTimeoutMs,
    connection: connectionRules(core, build),
    ...serverTokens(core, context.version, build),
    redirects: redirectRules(core),
    chunks: core.chunks,
    msiePadding: core.msiePadding,
    msieRefresh: core.msieRefresh,
    recursiveErrorPages: core.recursiveErrorPages,
    maxKeptBytes: core.maxKeptBytes,
    filters: parts.flatMap(({ filter }) => filter ?? []),
    bodyFilters: parts.flatMap(({ bodyFilter }) => bodyFilter ?? []),
    ranges: Object.assign({}, ...parts.map(({ ranges }) => ranges)) as RangeRules,
    logs: watch ? [] : [...logs, ...watching, ...compilePostAction(core.postAction)],
    tooLarge: parts.find((part) => part.tooLarge)?.tooLarge,
    errorPages: compileErrorPages(core.errorPages, parts.find((part) => part.ownErrors)?.ownErrors, build),
    router: context.router,
    writeLog: (message, x, level = 'error') => log.write(level, message, logContext(x)),
    shown: shownBy(parts, core, build),
    subrequestLogs: core.logSubrequest && !watch ? logs : [],
    watch,
  };
}

export function factsOf({ match, place }: LocationPlan): Omit<LocationFacts, 'nameless'> {
  return { kind: match?.kind ?? 'server', path: match ? pathOf(match) : '', place };
}

function pathOf(match: LocationMatch): string {
  if (match.kind === 'regex') return match.regex.pattern;
  return match.kind === 'named' ? match.name : match.path;
}

/** The slot of a value in a `ByOrigins`. */
interface Slot<T> {
  next?: Map<object, Slot<T>>;
  value?: T;
}

/** Values by the objects that they were made from. Put objects that many values share first. */
class ByOrigins<T> {
  readonly #root: Slot<T> = {};

  /** Returns the slot for the value that is made from these objects. */
  slot(origins: readonly object[]): Slot<T> {
    let slot = this.#root;
    for (const origin of origins) {
      slot.next ??= new Map();
      const next: Slot<T> = slot.next.get(origin) ?? {};
      slot.next.set(origin, next);
      slot = next;
    }
    return slot;
  }
}
