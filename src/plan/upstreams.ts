import { placeText, type Report, type Span } from '../../grammar/index.ts';
import {
  type BoundBlock,
  firstAt,
  type Registry,
  resolve,
  type ResolvedConfig,
  type ResolvedConfigs,
} from '../config/index.ts';
import { configOf, type UpstreamConfig } from '../contract/index.ts';
import {
  implicitUpstream,
  type Sticky,
  type UpstreamAddress,
  upstreamKey,
  type UpstreamPlan,
} from '../upstream/index.ts';
import { checkUpstream } from './checks/upstream.ts';
import { CheckCollector } from './health.ts';
import { coreOf } from './level.ts';

interface Declared {
  readonly plan: UpstreamPlan;
  readonly span: Span | undefined;
}

interface Planning {
  readonly registry: Registry;
  readonly report: Report;
}

/** Collects the groups of servers: `upstream` blocks, and hosts that locations name directly. */
export class UpstreamCollector {
  readonly #planning: Planning;
  readonly #blocks = new Map<string, Declared>();
  readonly #implicit = new Map<string, Declared>();
  readonly checks: CheckCollector;
  /** The directives that share sessions between the gateways of the only cluster. */
  readonly synced: (Span | undefined)[] = [];

  constructor(planning: Planning) {
    this.#planning = planning;
    this.checks = new CheckCollector(planning.report);
  }

  /** All groups, each with the span of its first declaration or use. */
  get declared(): readonly Declared[] {
    const all = [...this.#blocks.values(), ...this.#implicit.values()];
    const probed = this.checks.groups.map((plan) => ({ plan, span: undefined }));
    return [...all, ...probed].map(({ plan, span }) => ({ plan: this.checks.applied(plan), span }));
  }

  /** Tells whether there is an `upstream` block of this name. */
  has(name: string): boolean {
    return this.#blocks.has(upstreamKey(name));
  }

  /** Adds an `upstream` block. */
  add(block: BoundBlock, http: ResolvedConfigs): void {
    // An `upstream` without a name has been reported.
    if (typeof block.args !== 'string') return;
    const { registry, report } = this.#planning;
    const level = resolve(registry, block, http);
    const config = level.get('upstream') as ResolvedConfig;
    const plan = planOf(block, level);
    const span = block.node?.name.span;
    const other = this.#blocks.get(plan.key);
    if (other) report.emerg(`duplicate upstream "${plan.name}"`, span, firstAt(other.span, 'declared'));
    else this.#blocks.set(plan.key, { plan, span });
    checkUpstream({ plan, block, config }, report);
    this.checks.addUpstream(plan, level);
    this.#checkSessions(plan, config);
  }

  /** Checks that the sessions of a zone belong to one upstream. */
  #checkSessions({ key, sticky }: UpstreamPlan, { from }: ResolvedConfig): void {
    if (sticky?.kind !== 'learn') return;
    const span = from.get('sticky')?.spans[0];
    const { zone, isShared } = sticky;
    if (isShared) this.synced.push(span);
    const other = [...this.#blocks.values()].find(
      ({ plan }) => plan.key !== key && plan.sticky?.kind === 'learn' && plan.sticky.zone === zone,
    );
    if (!other) return;
    const message = `sticky zone "${zone}" is already used in upstream "${other.plan.name}"`;
    this.#planning.report.emerg(message, span, firstAt(other.span, 'declared'));
  }

  /** Returns the group of an address that has been added. */
  find({ host, port, defaultPort }: UpstreamAddress): UpstreamPlan | undefined {
    const block = port === undefined ? this.#blocks.get(upstreamKey(host)) : undefined;
    return (block ?? this.#implicit.get(upstreamKey(host, port ?? defaultPort)))?.plan;
  }

  /** Adds the host of an address unless it is an `upstream` block. All blocks must have been added. */
  need(address: UpstreamAddress, span: Span | undefined): void {
    const block = this.#blocks.get(upstreamKey(address.host));
    if (block && address.port === undefined) return;
    if (block) {
      const message = `upstream "${address.host}" may not have port ${address.port}`;
      return this.#planning.report.emerg(message, span, firstAt(block.span, 'declared', 'bad-reference'));
    }
    if (address.port === undefined && address.defaultPort === 0 && !address.host.startsWith('unix:'))
      return this.#planning.report.emerg(`no port in upstream "${address.host}"`, span);
    const plan = implicitUpstream(address, placeText(span));
    if (plan && !this.#implicit.has(plan.key)) this.#implicit.set(plan.key, { plan, span });
  }
}

/** Room for peers of a group whose `zone` has no size of its own, and the maximum room. */
const DEFAULT_ROOM = 256;
const MAX_ROOM = 4096;

/** As in nginx, a peer takes about 512 bytes of the zone. */
const ROOM_BYTES = 512;

function roomIn(zoneBytes: number): number {
  return Math.min(MAX_ROOM, Math.max(1, Math.floor(zoneBytes / ROOM_BYTES)));
}

function planOf(block: BoundBlock, level: ResolvedConfigs): UpstreamPlan {
  const config = configOf(level, 'upstream');
  const { resolver, resolverTimeoutMs, skipped } = coreOf(level);
  const name = block.args as string;
  return {
    name,
    key: upstreamKey(name),
    implicit: false,
    servers: config.servers ?? [],
    balancing: config.balancing?.at(-1) ?? { kind: 'round robin' },
    ...stickyOf(config),
    ...(config.managed && { managedPeers: config.zoneBytes ? roomIn(config.zoneBytes) : DEFAULT_ROOM }),
    keepalive: {
      ...(config.keepaliveConnections !== undefined && { connections: config.keepaliveConnections }),
      requests: config.keepaliveRequests,
      timeMs: config.keepaliveTimeMs,
      timeoutMs: config.keepaliveTimeoutMs,
    },
    ...(resolver && { resolver }),
    resolverTimeoutMs,
    ...(skipped !== undefined && { skipped }),
  };
}

function stickyOf(config: UpstreamConfig): { sticky?: Sticky } {
  const { sticky, stickyKey, stickyFallback, stickyIssuesCookie, stickyCookieAttributes } = config;
  if (sticky) return { sticky };
  if (!stickyKey) return {};
  return {
    sticky: {
      kind: 'key',
      ...stickyKey,
      isStrict: stickyFallback === 'off',
      issuesCookie: stickyIssuesCookie && stickyKey.from === 'cookie',
      attributes: stickyCookieAttributes,
    },
  };
}
