import type { ErrorLog } from '../log/index.ts';
import { type Counters, openDictionary, PeerTable, SharedText } from '../zone/index.ts';
import { PeerGroup } from './peer-group.ts';
import { upstreamKey } from './implicit-upstream.ts';
import { AddressWatch, addressLookup } from './names/address-watch.ts';
import { KnownAddresses } from './names/known-addresses.ts';
import { NameResolver } from './names/name-resolver.ts';
import {
  addressesZone,
  membershipZone,
  type ServerConfig,
  sessionsZone,
  type UpstreamPlan,
  upstreamZoneName,
} from './plan.ts';
import type {
  ProbedGroup,
  MemberLookup,
  MemberName,
  RequestHosts,
  Resolving,
  UpstreamAddress,
  UpstreamGroup,
  Upstreams,
} from './interfaces.ts';
import { KnownRequestHosts } from './names/request-hosts.ts';

/** The parts of a worker that the groups of a configuration need. */
interface UpstreamScope {
  readonly workerId: number;
  readonly isFirst: boolean;
  readonly log: ErrorLog;
  readonly metrics: Counters;
  zone(name: string): SharedArrayBuffer;
}

/** The start waits this long for lookups; later results are added to their groups. */
const START_MS = 5000;

/** How often changed members are looked for where no request does. */
const FOLLOW_MS = 1000;

/** All groups of one configuration in one worker, with the lookups of their names. */
export class OpenUpstreams implements Upstreams {
  readonly groups: readonly PeerGroup[];
  readonly #plans: readonly UpstreamPlan[];
  readonly #scope: UpstreamScope;
  readonly #byKey: ReadonlyMap<string, PeerGroup>;
  readonly #resolvers = new Map<string, NameResolver>();
  readonly #hosts = new Map<string, RequestHosts>();
  readonly #watches: readonly AddressWatch[];
  /** Takes over changed members also in a worker without requests, whose metrics are read. */
  readonly #following: NodeJS.Timeout | undefined;

  /** `asks`: names are looked up. */
  private constructor(plans: readonly UpstreamPlan[], scope: UpstreamScope, asks: boolean) {
    this.#plans = plans;
    this.#scope = scope;
    const opened = plans.map((plan) => ({ plan, group: this.#open(plan) }));
    this.#byKey = new Map(opened.map(({ plan, group }) => [plan.key, group]));
    this.groups = opened.flatMap(({ plan, group }) => (plan.implicit ? [] : group));
    const managed = opened.flatMap(({ group }) => (group.membership ? [group] : []));
    if (asks && managed.length > 0) {
      this.#following = setInterval(() => managed.forEach((group) => group.followMembers()), FOLLOW_MS);
      this.#following.unref();
    }
    this.#watches = asks ? opened.flatMap(({ plan, group }) => this.#watch(plan, group)) : [];
  }

  /**
   * Opens the groups. Resolves when the names without known addresses have been looked up, or after a timeout. Never
   * rejects.
   */
  static async open(plans: readonly UpstreamPlan[], scope: UpstreamScope): Promise<OpenUpstreams> {
    const upstreams = new OpenUpstreams(plans, scope, true);
    await upstreams.#start();
    return upstreams;
  }

  /** Opens the groups without looking up names: servers with a name have no peers. */
  static withoutLookups(plans: readonly UpstreamPlan[], scope: UpstreamScope): OpenUpstreams {
    return new OpenUpstreams(plans, scope, false);
  }

  find(address: UpstreamAddress): UpstreamGroup | undefined {
    const { host, port, defaultPort } = address;
    return this.block(address) ?? this.#byKey.get(upstreamKey(host, port ?? defaultPort));
  }

  block({ host, port }: Pick<UpstreamAddress, 'host' | 'port'>): UpstreamGroup | undefined {
    return port === undefined ? this.#byKey.get(upstreamKey(host)) : undefined;
  }

  memberLookup(group: string, { host, port, service }: MemberName): MemberLookup | undefined {
    const plan = this.#plans.find(({ key }) => key === upstreamKey(group));
    if (!plan?.resolver) return undefined;
    const { resolver, resolverTimeoutMs: timeoutMs } = plan;
    const target = { kind: 'name', host, port } as const;
    const resolve = service === undefined ? {} : { service };
    return addressLookup({ target, resolve }, this.#resolver({ resolver, timeoutMs }));
  }

  /** Returns a group by the key of its plan, for active checks. */
  probed(key: string): ProbedGroup | undefined {
    return this.#byKey.get(key);
  }

  hosts(resolving: Resolving): RequestHosts {
    const key = JSON.stringify(resolving);
    const known = this.#hosts.get(key);
    if (known) return known;
    const { addresses, ...asking } = resolving;
    const resolver = resolving.resolver && this.#resolver(asking);
    const { workerId, metrics, log } = this.#scope;
    const hosts = new KnownRequestHosts({ resolver, addresses, workerId, metrics, log });
    this.#hosts.set(key, hosts);
    return hosts;
  }

  texts({ resolver, timeoutMs }: Resolving, name: string): Promise<readonly string[]> {
    return this.#resolver({ resolver, timeoutMs }).texts(name);
  }

  /** Closes the groups. Requests that still have a peer may finish later. */
  close(): void {
    for (const watch of this.#watches) watch.close();
    clearInterval(this.#following);
    for (const resolver of this.#resolvers.values()) resolver.close();
    for (const group of this.#byKey.values()) group.close();
  }

  async #start(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise((resolve) => {
      timer = setTimeout(resolve, START_MS);
    });
    const asked = this.#watches.map((watch) => ({ watch, result: watch.ask() }));
    const urgent = asked.filter(({ watch }) => watch.isUrgent).map(({ result }) => result);
    await Promise.race([Promise.all(urgent), patience]);
    clearTimeout(timer);
  }

  #open(plan: UpstreamPlan): PeerGroup {
    const { workerId, metrics, log } = this.#scope;
    const table = new PeerTable(this.#scope.zone(upstreamZoneName(plan)), workerId);
    const { sticky } = plan;
    const members = membershipZone(plan);
    const sessions = sticky?.kind === 'learn' ? this.#scope.zone(sessionsZone(sticky).name) : undefined;
    return new PeerGroup(plan, {
      table,
      metrics,
      log,
      ...(members && { members: new SharedText(this.#scope.zone(members.name), workerId) }),
      ...(sessions && { sessions: openDictionary(sessions, workerId, { evict: true }) }),
    });
  }

  #resolver(resolving: Resolving): NameResolver {
    const key = JSON.stringify(resolving);
    const resolver = this.#resolvers.get(key) ?? new NameResolver(resolving);
    this.#resolvers.set(key, resolver);
    return resolver;
  }

  /** Creates a watch for each server with a name. Until its lookup succeeds, the server has the addresses known before. */
  #watch(plan: UpstreamPlan, group: PeerGroup): AddressWatch[] {
    const { resolver, resolverTimeoutMs: timeoutMs } = plan;
    const zone = addressesZone(plan);
    const kept = zone && new KnownAddresses(this.#scope.zone(zone.name), this.#scope.workerId);
    return plan.servers.flatMap((server, index) => {
      const names = server.resolve && resolver ? this.#resolver({ resolver, timeoutMs }) : undefined;
      const ask = addressLookup(server, names);
      if (!ask) return [];
      const known = server.resolve ? (kept?.of(server) ?? []) : [];
      if (known.length > 0) group.setAddresses(index, known);
      const found: Watcher['found'] = (addresses) => {
        group.setAddresses(index, addresses);
        if (server.resolve) kept?.keep(server, addresses);
      };
      const failed = this.#lookupFailed(server);
      return new AddressWatch({ ask, found, failed, isUrgent: known.length === 0 });
    });
  }

  /** Logs a failed lookup. Every worker looks names up, but only the first one logs. */
  #lookupFailed({ name, place, resolve }: ServerConfig): (error: Error) => void {
    const { log, isFirst } = this.#scope;
    return (error) => {
      if (!isFirst) return;
      log.write('error', resolve ? error.message : `host not found in upstream "${name}" in ${place}`);
    };
  }
}

type Watcher = ConstructorParameters<typeof AddressWatch>[0];
