import type { ErrorLog } from '../log/index.ts';
import {
  type Counter,
  type Counters,
  type Histogram,
  monotonicMs,
  type Ring,
  type Seat,
  UNHEALTHY,
} from '../zone/index.ts';
import { HealthProbe, type ProbeResult } from './health-probe.ts';
import { checkBits, type LivePeer } from './peer-set.ts';
import type { HealthCheck } from './plan.ts';

const PROBES = { name: 'gw_health_probes_total', help: 'Probes of a peer by their result.' };
const SECONDS = {
  name: 'gw_health_probe_seconds',
  help: 'Time that the probes of a group took.',
  scale: 'seconds',
} as const;
const TRANSITIONS = {
  name: 'gw_health_transitions_total',
  help: 'Times that a peer became healthy or unhealthy.',
};

/** How often a worker looks whether a probe is due, or whether the worker that probes is still alive. */
const LOOK_MS = 250;

/** The group whose peers are probed. */
interface ProbedGroup {
  readonly name: string;
  readonly checks: readonly HealthCheck[];
  readonly seat: Seat;
  /** The present peers; they may change at any time. */
  peers(): readonly LivePeer[];
}

/** What a prober needs of its worker. */
interface ProberScope {
  readonly log: ErrorLog;
  readonly metrics: Counters;
  /** Where changes are published. */
  readonly events: { readonly ring: Ring; readonly channel: string } | undefined;
}

/** The probes of one peer by one check. */
interface ProbedPeer {
  readonly probe: HealthProbe;
  readonly check: HealthCheck;
  /** The bit of the check. */
  readonly nth: number;
  nextMs: number;
  isProbing: boolean;
  /** Results in a row: good ones are positive. */
  row: number;
}

/**
 * Probes the peers of a group for all workers. The worker that holds the group's seat does it; when that dies or hangs,
 * another one goes on after two intervals at most. What it finds is in shared memory, so that no state changes by that.
 */
export class HealthProber {
  readonly #group: ProbedGroup;
  readonly #scope: ProberScope;
  readonly #looking: NodeJS.Timeout;
  readonly #silenceMs: number;
  readonly #seconds: Histogram;
  /** By address and check. */
  #probed = new Map<string, ProbedPeer>();

  constructor(group: ProbedGroup, scope: ProberScope) {
    this.#group = group;
    this.#scope = scope;
    this.#seconds = scope.metrics.histogram(SECONDS, { upstream: group.name });
    const shortest = Math.min(...group.checks.map(({ intervalMs }) => intervalMs));
    const lookMs = Math.max(10, Math.min(LOOK_MS, shortest / 4));
    this.#silenceMs = Math.max(3 * lookMs, 100);
    this.#looking = setInterval(() => this.#look(), lookMs);
    this.#looking.unref();
    this.#look();
  }

  close(): void {
    clearInterval(this.#looking);
    for (const { probe } of this.#probed.values()) probe.close();
    this.#probed.clear();
    this.#group.seat.leave();
  }

  #look(): void {
    if (!this.#group.seat.hold(this.#silenceMs)) return;
    const now = performance.now();
    const peers = this.#group.peers();
    this.#follow(peers, now);
    for (const peer of peers) {
      if (peer.down) continue;
      for (const nth of this.#group.checks.keys()) {
        const probed = this.#probed.get(keyOf(peer, nth));
        if (probed && !probed.isProbing && now >= probed.nextMs) void this.#probe(peer, probed);
      }
    }
  }

  /** Begins with new peers and ends with those that have gone. The first probes are spread over an interval. */
  #follow(peers: readonly LivePeer[], now: number): void {
    const before = this.#probed;
    const after = new Map<string, ProbedPeer>();
    for (const [at, peer] of peers.entries()) {
      for (const [nth, check] of this.#group.checks.entries()) {
        const key = keyOf(peer, nth);
        const { address } = peer;
        const known = before.get(key);
        // A mandatory check lets a peer wait for its first probe.
        const delay = check.mandatory ? 0 : (check.intervalMs * at) / (2 * peers.length);
        after.set(
          key,
          known ?? {
            probe: new HealthProbe(check, { address, host: this.#group.name }),
            check,
            nth,
            nextMs: now + delay,
            isProbing: false,
            row: 0,
          },
        );
      }
    }
    for (const [key, { probe }] of before) if (!after.has(key)) probe.close();
    this.#probed = after;
  }

  async #probe(peer: LivePeer, probed: ProbedPeer): Promise<void> {
    const { check, probe } = probed;
    const startedMs = performance.now();
    probed.isProbing = true;
    probed.nextMs = startedMs + check.intervalMs + Math.random() * check.jitterMs;
    const result = await probe.probe();
    probed.isProbing = false;
    this.#seconds.observe((performance.now() - startedMs) / 1000);
    this.#countOf(peer, result).add();
    // The configuration was replaced, or another worker has taken over.
    if (!this.#probed.has(keyOf(peer, probed.nth))) return;
    peer.state.noteProbe(Date.now(), result.status);
    this.#settle(peer, probed, result);
  }

  #settle(peer: LivePeer, probed: ProbedPeer, result: ProbeResult): void {
    const { check, nth } = probed;
    const { unhealthy, pending } = checkBits(nth);
    probed.row = result.healthy ? Math.max(1, probed.row + 1) : Math.min(-1, probed.row - 1);
    const before = peer.state.exclusions;
    let after = before;
    if (result.healthy && ((before & pending) !== 0 || probed.row >= check.passes))
      after &= ~(unhealthy | pending);
    else if (!result.healthy && (-probed.row >= check.fails || (before & pending) !== 0))
      after = (after | unhealthy) & ~pending;
    if (after === before) return;
    peer.state.change(before, after);
    if (after === 0 && peer.slowStartMs > 0) peer.state.slowStartFrom = monotonicMs();
    this.#tell(peer, { wasHealthy: isHealthy(before), isHealthy: isHealthy(after), result });
  }

  #tell(
    { address }: LivePeer,
    change: { readonly wasHealthy: boolean; readonly isHealthy: boolean; readonly result: ProbeResult },
  ): void {
    if (change.wasHealthy === change.isHealthy) return;
    const { name } = this.#group;
    const { log, metrics, events } = this.#scope;
    const { status, reason } = change.result;
    const found = change.isHealthy ? 'healthy' : `unhealthy: ${reason}`;
    log.write(change.isHealthy ? 'notice' : 'warn', `peer "${address}" of upstream "${name}" is ${found}`);
    metrics.counter(TRANSITIONS, { upstream: name, peer: address }).add();
    if (!events) return;
    const payload = JSON.stringify({
      scope: 'peer',
      name: `${name}/${address}`,
      healthy: change.isHealthy,
      status,
      checked_at_msec: Date.now(),
    });
    try {
      events.ring.publish({ channel: events.channel, type: 'transition', payload });
    } catch (error) {
      log.write('warn', `event "transition" was not published: ${(error as Error).message}`);
    }
  }

  #countOf({ address }: LivePeer, { healthy }: ProbeResult): Counter {
    const result = healthy ? 'ok' : 'failed';
    return this.#scope.metrics.counter(PROBES, { upstream: this.#group.name, peer: address, result });
  }
}

function keyOf({ address }: LivePeer, nth: number): string {
  return `${nth} ${address}`;
}

/** A peer that waits for its first probe counts as healthy here: nothing is known against it. */
function isHealthy(exclusions: number): boolean {
  return (exclusions & UNHEALTHY) === 0;
}
