import { Connections, Connector } from '../client/index.ts';
import type { CheckView, PeerChecks, ProbedGroup, ProbedPeer } from '../upstream/index.ts';
import { CHECKING, fnv1a, monotonicMs, UNHEALTHY, type Verdict } from '../zone/index.ts';
import { type GroupCheck, PeerCheck } from './peer-check.ts';
import type { CheckPlan } from './plan.ts';
import { compileCheck, type ProbeOutcome } from './probe.ts';

/** A change of the verdict of one check on a peer. */
export interface Transition {
  readonly plan: CheckPlan;
  readonly upstream: string;
  readonly peer: string;
  readonly healthy: boolean;
  /** The first result of a peer that had none. */
  readonly isFirst: boolean;
  /** The health of the peer as a whole, by all its checks, has changed. */
  readonly flips: boolean;
  /** The reason why the peer is unhealthy. */
  readonly fault?: string;
  readonly status: number;
  readonly atMs: number;
}

/** The result of one check of one peer. */
export interface CheckResult extends CheckView {
  readonly plan: CheckPlan;
  readonly peer: string;
}

/** The part of a worker that the checks of a group use. */
interface GroupScope {
  /** Number of this load. */
  readonly load: number;
  /** The buffer that connections are read into. */
  readonly buffer: Buffer;
  probed(peer: { readonly upstream: string; readonly peer: string }, outcome: ProbeOutcome): void;
  changed(transition: Transition): void;
}

/** Bounds of the interval at which a thread renews the seat or tries to take it. */
const LEAST_TICK_MS = 50;
const MOST_TICK_MS = 1000;
/** The distance between the first probes of peers that take no requests before their first result. */
const AWAITED_STEP_MS = 10;

/** The active checks of one group: follows its peers, and probes them while this thread holds the seat of the group. */
export class GroupChecks implements PeerChecks {
  readonly #group: ProbedGroup;
  readonly #checks: readonly GroupCheck[];
  readonly #scope: GroupScope;
  readonly #silenceMs: number;
  readonly #timer: NodeJS.Timeout;
  #byPeer: ReadonlyMap<ProbedPeer, readonly PeerCheck[]> = new Map();
  #isProbing = false;

  constructor(group: ProbedGroup, plans: readonly CheckPlan[], scope: GroupScope) {
    this.#group = group;
    this.#scope = scope;
    this.#checks = withDigests(plans, scope.buffer);
    const shortest = Math.min(...plans.map(({ intervalMs }) => intervalMs));
    const tickMs = Math.min(MOST_TICK_MS, Math.max(LEAST_TICK_MS, shortest / 4));
    this.#silenceMs = Math.max(shortest, 4 * tickMs);
    this.#timer = setInterval(() => this.#tick(), tickMs);
    this.#timer.unref();
    group.checkBy(this);
    this.#tick();
  }

  follow(peers: readonly ProbedPeer[]): void {
    const before = this.#byPeer;
    const now = new Map<ProbedPeer, readonly PeerCheck[]>();
    this.#group.locked(() => {
      for (const peer of peers) {
        now.set(peer, before.get(peer) ?? this.#claim(peer));
        this.#exclude(peer, now.get(peer) ?? []);
      }
    });
    this.#byPeer = now;
    for (const [peer, checks] of before) if (!now.has(peer)) for (const check of checks) check.stop();
    if (this.#isProbing) this.#startAll();
  }

  view(peer: ProbedPeer): readonly CheckView[] {
    return (this.#byPeer.get(peer) ?? []).map(viewOf);
  }

  /** Returns the results of all checks of all peers. */
  results(): readonly CheckResult[] {
    const all = [...this.#byPeer.values()].flat();
    return all.map((each) => ({ ...viewOf(each), plan: each.check.plan, peer: each.peer.address }));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stopAll();
    for (const { connections } of this.#checks) connections.close();
  }

  /** Creates the checks of a peer. Must be called under the lock. */
  #claim(peer: ProbedPeer): readonly PeerCheck[] {
    const received = this.#received.bind(this);
    const own = this.#checks.filter(({ plan: { only = peer.address } }) => only === peer.address);
    return own.map((check) => {
      const cell = peer.state.check(check.digest);
      const { mandatory, persistent } = check.plan;
      if (cell.load < this.#scope.load) {
        if (mandatory && !(persistent && cell.verdict === 'healthy')) cell.forget();
        cell.load = this.#scope.load;
      }
      return new PeerCheck({ peer, check, cell }, received);
    });
  }

  #tick(): void {
    this.#group.followMembers();
    const holds = this.#group.seat.hold(this.#silenceMs);
    if (holds === this.#isProbing) return;
    this.#isProbing = holds;
    if (holds) this.#startAll();
    else this.#stopAll();
  }

  /** Starts all checks, spread over the interval to spread the load of the peers and of this thread. */
  #startAll(): void {
    const all = [...this.#byPeer.values()].flat();
    for (const [nth, each] of all.entries()) {
      const spread = (each.check.plan.intervalMs * nth) / all.length;
      each.start(each.isAwaited ? Math.min(spread, AWAITED_STEP_MS * nth) : spread);
    }
  }

  #stopAll(): void {
    for (const checks of this.#byPeer.values()) for (const check of checks) check.stop();
  }

  #received({ peer, check, cell }: PeerCheck, outcome: ProbeOutcome, before: Verdict): void {
    const names = { upstream: this.#group.name, peer: peer.address };
    this.#scope.probed(names, outcome);
    const { verdict } = cell;
    if (verdict === before) return;
    const wasUnhealthy = isUnhealthy(peer);
    this.#group.locked(() => this.#exclude(peer, this.#byPeer.get(peer) ?? []));
    const { fault } = outcome;
    this.#scope.changed({
      ...names,
      plan: check.plan,
      flips: isUnhealthy(peer) !== wasUnhealthy,
      healthy: verdict === 'healthy',
      isFirst: before === 'unknown' && (verdict === 'healthy' || check.plan.mandatory),
      ...(fault !== undefined && { fault }),
      status: outcome.status,
      atMs: cell.changedMs,
    });
  }

  /** Excludes a peer from the selection if any of its checks fails. Must be called under the lock. */
  #exclude({ state, weight, slowStartMs }: ProbedPeer, checks: readonly PeerCheck[]): void {
    const fails = checks.some(({ cell }) => cell.verdict === 'unhealthy');
    const isAwaited = checks.some((check) => check.isAwaited);
    const before = state.exclusions;
    const now = (fails ? UNHEALTHY : 0) | (isAwaited ? CHECKING : 0);
    if (now === before) return;
    state.exclusions = now;
    if (now !== 0 || (before & UNHEALTHY) === 0) return;
    // The peer has recovered: earlier failures of requests say nothing about it any more.
    state.fails = 0;
    state.effectiveWeight = weight;
    state.currentWeight = 0;
    if (slowStartMs > 0) state.slowStartFrom = monotonicMs();
  }
}

function isUnhealthy({ state }: ProbedPeer): boolean {
  return (state.exclusions & UNHEALTHY) !== 0;
}

function viewOf({ check, cell }: PeerCheck): CheckView {
  const { verdict, passes, fails, successes, failures, status, spentMs, probedMs, changedMs } = cell;
  const { what: uri } = check.plan;
  return { uri, verdict, passes, fails, successes, failures, status, spentMs, probedMs, changedMs };
}

/** Compiles the checks of a group. Each has a digest of its settings, by which a reload finds its results. */
function withDigests(plans: readonly CheckPlan[], buffer: Buffer): GroupCheck[] {
  const taken = new Set<number>();
  return plans.map((plan) => {
    const { request, rules, port, address, only } = plan;
    const { uri, headers, socket, tlsName } = request;
    const text = JSON.stringify([uri, headers, port, address, only, rules, socket, tlsName]);
    let digest = fnv1a(Buffer.from(text)) | 0;
    while (digest === 0 || taken.has(digest)) digest = (digest + 1) | 0;
    taken.add(digest);
    const { keepaliveMs } = request;
    const keepalive = { connections: keepaliveMs > 0 ? MOST_KEPT : 0, requests: Infinity };
    const connections = new Connections(new Connector(socket, buffer), {
      ...keepalive,
      timeMs: keepaliveMs,
      timeoutMs: keepaliveMs,
    });
    return { ...compileCheck(plan), plan, digest, connections };
  });
}

/** Maximum number of connections that a check keeps, one for each peer. */
const MOST_KEPT = 1024;
