import { availableParallelism } from 'node:os';
import type { Report } from '../../grammar/index.ts';
import {
  type BoundBlock,
  type BoundConfig,
  type Registry,
  resolve,
  type ResolvedConfigs,
  type Compat,
} from '../config/index.ts';
import { type CachePlan, cacheZone } from '../cache/index.ts';
import { type AnyModule, configOf, type CoreConfig, type HttpEngine } from '../contract/index.ts';
import { addressesZone, membershipZone, sessionsZone, upstreamZone } from '../upstream/index.ts';
import { planAcme, withOrderedPair } from './acme.ts';
import { checkVariables } from './checks/variables.ts';
import { coreOf, type PlannedServer, serverNamesOf } from './level.ts';
import { ClusterCollector } from './clusters.ts';
import { LocationPlanner } from './locations.ts';
import { serverNameText } from './plan-text.ts';
import type { GatewayPlan, MainPlan, ServerPlan } from './plan.ts';
import { planPorts } from './ports.ts';
import { planTls } from './tls/index.ts';
import { UpstreamCollector } from './upstreams.ts';

/** Freezes plain data recursively. Shared objects are visited once. */
function deepFreeze<T>(value: T): T {
  const waiting: unknown[] = [value];
  for (let item = waiting.pop(); item !== undefined || waiting.length > 0; item = waiting.pop()) {
    if (!isOpen(item)) continue;
    Object.freeze(item);
    for (const key in item) {
      const inner: unknown = (item as Readonly<Record<string, unknown>>)[key];
      if (isOpen(inner)) waiting.push(inner);
    }
  }
  return value;
}

function isOpen(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Object.isFrozen(value);
}

/** Options of `makePlan`. */
interface PlanOptions {
  readonly registry: Registry;
  readonly modules: readonly AnyModule[];
  readonly report: Report;
  readonly prefix: string;
  readonly confFile: string;
  /** The error log of the command line; an `error_log` in the main context replaces it. */
  readonly errorLog?: string | undefined;
  readonly version: string;
  /** Identifies the text of the configuration. */
  readonly digest: string;
  readonly compat: Compat;
}

/** Where nobody has chosen an engine, ports with TLS have the node engine. */
function httpEngineOf({ httpEngine = { engine: 'auto', tls: false } }: CoreConfig): HttpEngine {
  return httpEngine;
}

/** Makes the plan of a typed configuration. Reports faults; if there are any, the plan must not be used. */
export function makePlan(config: BoundConfig, options: PlanOptions): GatewayPlan {
  const { registry, modules, report, compat } = options;
  const main = resolve(registry, config.main, undefined);
  const upstreams = new UpstreamCollector({ registry, report });
  const { prefix } = options;
  const locations = new LocationPlanner({ registry, modules, report, upstreams, prefix, compat });
  const clusters = new ClusterCollector({ registry, report, locations, prefix });
  const servers: PlannedServer[] = [];
  const caches: CachePlan[] = [];
  let metricsBuckets: CoreConfig['metricsBuckets'];

  for (const http of blocksIn(config.main, 'http')) {
    const level = resolve(registry, http, main);
    for (const block of blocksIn(http, 'upstream')) upstreams.add(block, level);
    for (const block of blocksIn(http, 'cluster')) clusters.add(block, level);
    locations.validate(level);
    metricsBuckets = coreOf(level).metricsBuckets;
    caches.push(...planCaches(level, locations));
    for (const block of blocksIn(http, 'server'))
      servers.push(planServer(block, level, { registry, report, locations }));
  }
  const [events] = blocksIn(config.main, 'events');
  const level = events && resolve(registry, events, main);
  const mainPlan = planMain(coreOf(main), level && coreOf(level).workerConnections, options);
  planAcme(servers, { zones: locations.zones, report });
  planNames({ locations, upstreams, clusters }, mainPlan.workers);
  locations.written.addMain(mainPlan.core);
  return deepFreeze({
    main: { ...mainPlan, ...(metricsBuckets && { metricsBuckets }), written: locations.written.paths },
    ports: planPorts(servers, { report, config, httpEngine: httpEngineOf(mainPlan.core) }),
    servers: servers.map(({ plan }) => plan),
    upstreams: upstreams.declared.map(({ plan }) => plan),
    health: upstreams.checks.plan,
    caches,
    clusters: clusters.plans,
    zones: locations.zones.declarations,
    variables: checkVariables(config, { modules, report, compat }),
    ...locations.measures,
  });
}

interface Collected {
  readonly locations: LocationPlanner;
  readonly upstreams: UpstreamCollector;
  readonly clusters: ClusterCollector;
}

/** Declares the shared memory of the upstreams, and checks the names that locations use. */
function planNames({ locations, upstreams, clusters }: Collected, workers: number): void {
  for (const { plan, span } of upstreams.declared) {
    locations.zones.add(upstreamZone(plan, workers), span);
    const members = membershipZone(plan, locations.used.sharesMembersOf(plan.key));
    for (const text of [members, addressesZone(plan)]) if (text) locations.zones.add(text, span);
    if (plan.sticky?.kind === 'learn') locations.zones.add(sessionsZone(plan.sticky), span);
  }
  for (const span of upstreams.synced)
    locations.used.add({ kind: 'only cluster', name: 'sync', directive: 'sticky', span });
  upstreams.checks.checkZones(locations.zones.declarations);
  const ofNames = (names: readonly string[]) => ({ names, has: (name: string) => names.includes(name) });
  locations.used.check({
    upstream: {
      has: (name) => upstreams.has(name),
      names: upstreams.declared.map(({ plan }) => plan.name),
    },
    ring: ofNames(locations.zones.namesOf('ring')),
    cache: ofNames(locations.zones.namesOf('cache')),
    dictionary: ofNames(locations.zones.namesOf('dictionary')),
    cluster: { has: (name) => clusters.has(name), names: clusters.plans.map(({ name }) => name) },
    'only cluster': { has: () => clusters.count < 2 },
  });
}

/** Returns the caches that an `http` block declares. */
function planCaches(http: ResolvedConfigs, { zones }: LocationPlanner): readonly CachePlan[] {
  const { paths = [] } = configOf(http, 'cache');
  const spans = http.get('cache')?.from.get('paths')?.spans;
  for (const [index, path] of paths.entries()) zones.add(cacheZone(path), spans?.[index]);
  return paths;
}

function blocksIn(block: BoundBlock, context: BoundBlock['context']): readonly BoundBlock[] {
  return block.children.filter((child) => child.context === context);
}

function planMain(
  core: CoreConfig,
  connections: number | undefined,
  { prefix, confFile, errorLog, version, digest }: PlanOptions,
): Omit<MainPlan, 'written'> {
  const withErrorLog: CoreConfig =
    errorLog === undefined ? core : { errorLogs: [{ path: errorLog, level: 'error' }], ...core };
  const workers = core.workerProcesses === 'auto' ? availableParallelism() : core.workerProcesses;
  return { core: withErrorLog, workers, connections, prefix, confFile, version, digest };
}

interface ServerPlanning {
  readonly registry: Registry;
  readonly report: Report;
  readonly locations: LocationPlanner;
}

function planServer(
  block: BoundBlock,
  http: ResolvedConfigs,
  { registry, report, locations }: ServerPlanning,
): PlannedServer {
  const level = withOrderedPair(resolve(registry, block, http));
  const names = serverNamesOf(level);
  const [first] = names;
  const tls = planTls(level, report);
  const plan: ServerPlan = {
    name: first === undefined ? '' : serverNameText(first),
    names,
    ...locations.server(block, level, names),
    ...(tls && { tls }),
  };
  return { plan, level, block };
}
