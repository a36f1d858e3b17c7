import { placeText, type Report, type Span } from '../../grammar/index.ts';
import type { ResolvedConfigs } from '../config/index.ts';
import { configOf, type HealthConfig, type LiteralTarget } from '../contract/index.ts';
import {
  type CheckPlan,
  DEFAULT_RULES,
  type EventTarget,
  type HealthCheck,
  type HealthPlan,
  type ProbeRequest,
  type UrlProbe,
} from '../health/index.ts';
import { PLAIN_SERVER, plainUpstream, type UpstreamPlan } from '../upstream/index.ts';
import { MAX_CHECKS, type ZoneDeclaration } from '../zone/index.ts';
import { forwardedRequest, plainRequest, urlRequest } from './probe-request.ts';

/** A group that is checked. */
interface CheckedGroup {
  readonly key: string;
  readonly name: string;
}

/** Collects the active checks of all groups. */
export class CheckCollector {
  readonly #report: Report;
  readonly #byGroup = new Map<string, Map<string, CheckPlan>>();
  readonly #panics = new Map<string, number>();
  readonly #groups = new Map<string, UpstreamPlan>();
  readonly #events = new Map<string, { readonly target: EventTarget; readonly span: Span | undefined }>();

  constructor(report: Report) {
    this.#report = report;
  }

  get plan(): HealthPlan {
    const checks = [...this.#byGroup.values()].flatMap((own) => [...own.values()]);
    return { checks, events: [...this.#events.values()].map(({ target }) => target) };
  }

  /** The groups of probes whose target is not a group of the configuration. */
  get groups(): readonly UpstreamPlan[] {
    return [...this.#groups.values()];
  }

  /** Adds the checks of an `upstream` block. */
  addUpstream(group: CheckedGroup, level: ResolvedConfigs): void {
    const config = configOf(level, 'health');
    const { checks = [], panicPercent, peerProbes = [], probeUrl } = config;
    this.#panics.set(group.key, panicPercent);
    this.#addEvents(level);
    for (const [index, check] of checks.entries())
      this.#addCheck(group, {
        check,
        request: plainRequest(check, group.name),
        span: spanOf(level, index),
        level,
      });
    if (probeUrl) this.#addProbe({ scope: 'upstream', name: group.name }, probeUrl, level);
    const spans = level.get('health')?.from.get('peerProbes')?.spans;
    for (const [index, { address, probe }] of peerProbes.entries()) {
      const plan = { ...probePlan(probe, config), upstream: group.key, name: group.name, only: address };
      this.#add(group, { ...plan, scope: 'peer' }, spans?.[index]);
    }
  }

  /** Adds the checks of a location. `groupOf` finds the group of its `proxy_pass`. */
  addLocation(level: ResolvedConfigs, groupOf: (pass: LiteralTarget) => CheckedGroup | undefined): void {
    const config = configOf(level, 'health');
    const { checks = [], probeUrl } = config;
    if (probeUrl) this.#addProbe({ scope: 'service', name: probeUrl.url }, probeUrl, level);
    this.#addEvents(level);
    if (checks.length === 0) return;
    const proxy = configOf(level, 'proxy');
    const { pass } = proxy;
    if (pass?.kind !== 'literal') {
      const message = '"health_check" requires a "proxy_pass" without variables in the same location';
      return this.#report.emerg(message, spanOf(level, 0));
    }
    const group = groupOf(pass);
    // An invalid address has been reported.
    if (!group) return;
    for (const [index, check] of checks.entries()) {
      const request = forwardedRequest(check, pass, proxy);
      this.#addCheck(group, { check, request, span: spanOf(level, index), level });
    }
  }

  #addEvents(level: ResolvedConfigs): void {
    const { eventsZone: zone, eventsChannel: channel } = configOf(level, 'health');
    if (zone === undefined || channel === undefined) return;
    const span = level.get('health')?.from.get('eventsZone')?.spans[0];
    this.#events.set(JSON.stringify([zone, channel]), { target: { zone, channel }, span });
  }

  /** Reports rings that no location declares. */
  checkZones(zones: readonly ZoneDeclaration[]): void {
    for (const { target, span } of this.#events.values()) {
      if (zones.some(({ kind, name }) => kind === 'ring' && name === target.zone)) continue;
      const message = `zone "${target.zone}" is not declared by any "worker_events_zone"`;
      this.#report.emerg(message, span, { rule: 'bad-reference' });
    }
  }

  /** Returns the plan of a group with the settings that its checks require. */
  applied(plan: UpstreamPlan): UpstreamPlan {
    const checks = this.#byGroup.get(plan.key);
    if (!checks) return plan;
    const ramps = [...checks.values()].map(({ slowStartMs }) => slowStartMs);
    const slowStartMs = KEYED.has(plan.balancing.kind) ? 0 : Math.max(...ramps);
    return {
      ...plan,
      probing: { panicPercent: this.#panics.get(plan.key) ?? 0, slowStartMs },
    };
  }

  #addCheck(group: CheckedGroup, { check, request, span, level }: NewCheck): void {
    const rules = this.#rulesOf(check, level, span);
    if (!rules) return;
    const { intervalMs, jitterMs, fails, passes, mandatory, persistent, port, slowStartMs, uri } = check;
    const plan: CheckPlan = {
      upstream: group.key,
      scope: 'peer',
      name: group.name,
      what: uri,
      intervalMs,
      jitterMs,
      fails,
      passes,
      mandatory,
      persistent,
      slowStartMs,
      request,
      rules,
      ...(port !== undefined && { port }),
    };
    this.#add(group, plan, span);
  }

  /** Adds a probe that does not affect where requests go: its target is a group of its own. */
  #addProbe(subject: Pick<CheckPlan, 'scope' | 'name'>, probe: UrlProbe, level: ResolvedConfigs): void {
    const config = configOf(level, 'health');
    const span = level.get('health')?.from.get('probeUrl')?.spans[0];
    const key = `probe ${subject.scope} ${subject.name} ${probe.url}`;
    const address = addressOf(probe);
    const server = { ...PLAIN_SERVER, name: address, place: placeText(span) };
    const target = { kind: 'address', address } as const;
    this.#groups.set(key, plainUpstream({ name: subject.name, key }, [{ ...server, target }]));
    this.#add({ key, name: subject.name }, { ...probePlan(probe, config), ...subject, upstream: key }, span);
  }

  #add({ key, name }: CheckedGroup, plan: CheckPlan, span: Span | undefined): void {
    const checks = this.#byGroup.get(key) ?? new Map<string, CheckPlan>();
    this.#byGroup.set(key, checks);
    // Several locations may have the same check of the same group.
    checks.set(JSON.stringify(plan), plan);
    const { only } = plan;
    const others = [...checks.values()].filter((other) => other.only === undefined || other.only === only);
    if (others.length === MAX_CHECKS + 1)
      this.#report.emerg(`more than ${MAX_CHECKS} health checks of upstream "${name}"`, span);
  }

  #rulesOf(
    { match }: HealthCheck,
    level: ResolvedConfigs,
    span: Span | undefined,
  ): CheckPlan['rules'] | undefined {
    if (match === undefined) return DEFAULT_RULES;
    const block = configOf(level, 'health').matches?.find(({ name }) => name === match);
    if (!block) this.#report.emerg(`unknown match "${match}"`, span, { rule: 'bad-reference' });
    return block?.rules;
  }
}

interface NewCheck {
  readonly check: HealthCheck;
  readonly request: ProbeRequest;
  readonly span: Span | undefined;
  readonly level: ResolvedConfigs;
}

/** Methods that send a request to a fixed or a random point among the weights have no slow start. */
const KEYED: ReadonlySet<UpstreamPlan['balancing']['kind']> = new Set(['ip_hash', 'hash', 'random']);

function spanOf(level: ResolvedConfigs, index: number): Span | undefined {
  return level.get('health')?.from.get('checks')?.spans[index];
}

/** Returns the check of a URL without its subject. */
function probePlan(probe: UrlProbe, config: HealthConfig): Omit<CheckPlan, 'upstream' | 'scope' | 'name'> {
  const { probeIntervalMs, probeTimeoutMs, probeFails, probePasses, probeSlowStartMs, probeRules } = config;
  return {
    what: probe.url,
    address: addressOf(probe),
    intervalMs: probeIntervalMs,
    jitterMs: 0,
    fails: probeFails,
    passes: probePasses,
    mandatory: false,
    persistent: false,
    slowStartMs: probeSlowStartMs,
    request: urlRequest(probe, probeTimeoutMs),
    rules: probeRules ?? DEFAULT_RULES,
  };
}

function addressOf({ host, port }: UrlProbe): string {
  return `${host}:${port}`;
}
