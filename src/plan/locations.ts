import { placeText, type Report } from '../../grammar/index.ts';
import {
  type BoundBlock,
  type Compat,
  type Registry,
  resolve,
  type ResolvedConfig,
  type ResolvedConfigs,
} from '../config/index.ts';
import type { AnyModule, ConfigSite, CoreConfig, LocationMatch, ServerName } from '../contract/index.ts';
import { checkNesting } from './checks/locations.ts';
import { ContentModules } from './content.ts';
import { ConfigReporter, coreOf } from './level.ts';
import type { LocationPlan, ModuleConfigs, NamelessPlan, ServerPlan } from './plan.ts';
import type { UpstreamCollector } from './upstreams.ts';
import { UsedNames, WrittenPaths, ZoneCollector } from './collectors.ts';

interface Planning {
  readonly registry: Registry;
  readonly modules: readonly AnyModule[];
  readonly report: Report;
  readonly upstreams: UpstreamCollector;
  readonly prefix: string;
  readonly compat: Compat;
}

/** The values that a block inherits from the enclosing one. */
interface Around {
  readonly match?: LocationMatch | undefined;
  /** A directive or variable that the block needs and gw does not support. */
  readonly skipped?: string | undefined;
}

/** Plans locations, and has each module validate each of its configs once. */
export class LocationPlanner {
  readonly zones: ZoneCollector;
  readonly written: WrittenPaths;
  readonly used: UsedNames;
  /** True if a location shows request counts. */
  readonly measures = { countsRequests: false, keepsPhases: false };
  readonly #planning: Planning;
  readonly #validated = new Set<object>();
  readonly #content: ContentModules;
  /** Of the server that is being planned. */
  #serverNames: readonly ServerName[] | undefined;
  /** The locations that modules add to that server, by path. */
  #added = new Map<string, LocationPlan>();

  constructor(planning: Planning) {
    this.#planning = planning;
    this.zones = new ZoneCollector(planning.report);
    this.used = new UsedNames(planning.report);
    this.written = new WrittenPaths(planning.prefix);
    this.#content = new ContentModules(planning.modules, planning.registry);
  }

  /** Returns the plan of a server level and its locations. Named ones are separate, as no URI leads to them. */
  server(
    block: BoundBlock,
    level: ResolvedConfigs,
    names: readonly ServerName[],
  ): Pick<ServerPlan, 'root' | 'named'> {
    this.#serverNames = names;
    this.#added = new Map();
    const root = this.#plan(block, level);
    this.#serverNames = undefined;
    const isNamed = ({ match }: LocationPlan): boolean => match?.kind === 'named';
    const modules = this.#serverModules(root, level);
    const locations = root.locations.filter((location) => !isNamed(location));
    for (const { match } of locations) if (match?.kind === 'exact') this.#added.delete(match.path);
    return {
      root: { ...root, modules, locations: [...locations, ...this.#added.values()] },
      named: root.locations.filter(isNamed),
    };
  }

  /** The configs of a server level, as its modules make them for requests of its locations. */
  #serverModules(root: LocationPlan, level: ResolvedConfigs): ModuleConfigs {
    const configs: Record<string, object> = { ...root.modules };
    for (const { name, forServer } of this.#planning.modules) {
      const inner = forServer ? [...plansIn(root)].flatMap((plan) => plan.modules[name] ?? []) : [];
      if (!forServer || inner.length === 0) continue;
      const config = configs[name] ?? (level.get(name) as ResolvedConfig).value;
      configs[name] = forServer(config, inner) as object;
    }
    return configs;
  }

  /** Has the modules validate their configs of a block. A config that several blocks share is validated once. */
  validate(level: ResolvedConfigs): void {
    const beside = {
      verifiesTokens: this.#planning.modules.some(
        ({ name, verifiesTokens }) => verifiesTokens?.((level.get(name) as ResolvedConfig).value) === true,
      ),
      serverNames: this.#serverNames,
    };
    for (const module of this.#planning.modules) {
      const config = level.get(module.name) as ResolvedConfig;
      if (this.#validated.has(config.value) || module.enabled?.(config.value) === false) continue;
      this.#validated.add(config.value);
      module.validate?.(config.value, new ConfigReporter(config, this.#planning.report), beside);
      this.written.add(module.writes?.(config.value, this.#planning.prefix));
      for (const { zone, field, index = 0 } of module.zones?.(config.value) ?? []) {
        this.zones.add(zone, config.from.get(field)?.spans[index]);
      }
      for (const { field, index = 0, ...use } of module.uses?.(config.value) ?? []) {
        const { directive = '', spans } = config.from.get(field) ?? {};
        this.used.add({ ...use, directive, span: spans?.[index] });
      }
      for (const { field, index = 0, ...address } of module.upstreams?.(config.value) ?? []) {
        this.#planning.upstreams.need(address, config.from.get(field)?.spans[index]);
      }
    }
  }

  #plan(block: BoundBlock, level: ResolvedConfigs, around: Around = {}): LocationPlan {
    this.validate(level);
    const match = block.context === 'location' ? (block.args as LocationMatch) : around.match;
    const core = this.#core(level, around);
    const { skipped } = core;
    const blocks = this.#nameless(block, level, { match, skipped });
    this.#content.check(level, this.#planning.report);
    this.#addChecks(block, level);
    return {
      ...(match && { match }),
      place: placeText(block.node?.name.span),
      core,
      modules: this.#used(block, level, match),
      // Every request passes the server level first.
      locations: this.#children(block, level, block.context === 'server' ? { skipped } : {}),
      ...(blocks.length > 0 && { blocks }),
    };
  }

  /** Returns the core's config of a block, with the unsupported directive or variable that the block needs. */
  #core(level: ResolvedConfigs, around: Around): CoreConfig {
    const core = coreOf(level);
    if (this.#planning.compat !== 'skip') return core;
    const skipped = core.skipped ?? around.skipped ?? this.#missing(level);
    return skipped === undefined || skipped === core.skipped ? core : { ...core, skipped };
  }

  /** Returns the unsupported directive or variable that a module in use needs, itself or by its upstream. */
  #missing(level: ResolvedConfigs): string | undefined {
    const { modules, upstreams } = this.#planning;
    for (const module of modules) {
      const { value, from } = level.get(module.name) as ResolvedConfig;
      if (module.enabled?.(value) === false) continue;
      for (const { missing } of from.values()) if (missing !== undefined) return missing;
      const named = (module.uses?.(value) ?? []).filter(({ kind }) => kind === 'upstream');
      const groups = [
        ...(module.upstreams?.(value) ?? []).map((address) => upstreams.find(address)),
        ...named.map(({ name }) => upstreams.find({ host: name, defaultPort: 0 })),
      ];
      for (const group of groups) if (group?.skipped !== undefined) return group.skipped;
    }
    return undefined;
  }

  /** Adds the active checks of a location to its group. */
  #addChecks({ context }: BoundBlock, level: ResolvedConfigs): void {
    if (context !== 'location') return;
    const { upstreams } = this.#planning;
    upstreams.checks.addLocation(level, ({ host, port, scheme }) =>
      upstreams.find({
        host,
        ...(port !== undefined && { port }),
        defaultPort: scheme === 'http' ? 80 : 443,
      }),
    );
  }

  /** Returns the configs of the modules that a block uses. */
  #used(block: BoundBlock, level: ResolvedConfigs, match: LocationMatch | undefined): ModuleConfigs {
    const used = this.#planning.modules.flatMap((module) => {
      const { value } = level.get(module.name) as ResolvedConfig;
      return module.enabled?.(value) === false ? [] : [{ module, value }];
    });
    const [toolsPath] = used.flatMap(({ module, value }) => module.toolsPath?.(value, match) ?? []);
    const configs: Record<string, object> = {};
    for (const { module, value } of used) {
      if (module.name === 'core') continue;
      configs[module.name] = module.settle ? this.#settled(module, level, { match, toolsPath }) : value;
      this.measures.countsRequests ||= module.showsRequestCounts?.(value) === true;
      this.measures.keepsPhases ||= module.keepsPhases?.(value) === true;
    }
    for (const { module } of used)
      for (const { path, config } of module.ownLocations?.(configs[module.name] ?? {}) ?? [])
        this.#add(path, { [module.name]: config, ...sharedBy(configs) }, { block, level });
    return configs;
  }

  /** Returns the config of a module with what follows from its location. */
  #settled(module: AnyModule, level: ResolvedConfigs, site: Pick<ConfigSite, 'match' | 'toolsPath'>): object {
    const config = level.get(module.name) as ResolvedConfig;
    const reporter = new ConfigReporter(config, this.#planning.report);
    const settled: object | undefined = module.settle?.(
      config.value,
      { ...site, serverNames: this.#serverNames ?? [] },
      reporter,
    );
    return settled ?? config.value;
  }

  /** Adds a location of a module, for the block that it belongs to. */
  #add(
    path: string,
    modules: ModuleConfigs,
    { block, level }: { readonly block: BoundBlock; readonly level: ResolvedConfigs },
  ): void {
    if (this.#added.has(path)) return;
    const place = placeText(block.node?.name.span);
    this.#added.set(path, {
      match: { kind: 'exact', path },
      place,
      core: coreOf(level),
      modules,
      locations: [],
    });
  }

  #nameless(block: BoundBlock, level: ResolvedConfigs, around: Around): NamelessPlan[] {
    const found = block.children.filter(({ context, args }) => NAMELESS.has(context) && args !== undefined);
    return found.map((child) => {
      const own = this.#content.replaced(child, resolve(this.#planning.registry, child, level));
      const kind = child.context === 'limit_except' ? 'limit_except' : 'if';
      return { kind, nth: child.nth, args: child.args, plan: this.#plan(child, own, around) };
    });
  }

  #children(block: BoundBlock, level: ResolvedConfigs, around: Around): LocationPlan[] {
    const { registry, report } = this.#planning;
    // A location with invalid arguments has been reported. It is left out.
    const children = block.children.filter(
      (child) => child.context === 'location' && child.args !== undefined,
    );
    checkNesting(block, children, report);
    return children.map((child) => this.#plan(child, resolve(registry, child, level), around));
  }
}

/** A plan, and those of all blocks in it. */
function* plansIn(plan: LocationPlan): Generator<LocationPlan> {
  yield plan;
  for (const location of plan.locations) yield* plansIn(location);
  for (const { plan: block } of plan.blocks ?? []) yield* plansIn(block);
}

/** The modules whose rules hold for the own locations of a block as well: who is shut out of one is shut out of both. */
const SHARED = ['access_log', 'access', 'limit_req', 'limit_conn'];

function sharedBy(configs: ModuleConfigs): ModuleConfigs {
  return Object.fromEntries(Object.entries(configs).filter(([name]) => SHARED.includes(name)));
}

const NAMELESS: ReadonlySet<string> = new Set(['server if', 'location if', 'limit_except']);
