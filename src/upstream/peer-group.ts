import type { ComplexValue } from '../config/index.ts';
import type { ErrorLog } from '../log/index.ts';
import type { Counters, PeerTable } from '../zone/index.ts';
import {
  compilePick,
  isOpen,
  type LivePeer,
  type PeerSet,
  peerSetOf,
  type Pick,
  type Progress,
} from './balancing.ts';
import { PeerMeter } from './peer-meter.ts';
import { type KeepaliveConfig, type ServerConfig, type UpstreamPlan, upstreamZoneName } from './plan.ts';
import type { BalancingInput, Outcome, Peer, PeerView, Selection, UpstreamGroup } from './selection.ts';

const [startSeconds, startNanoseconds] = process.hrtime();
const OFFSET_SECONDS = startSeconds + startNanoseconds / 1e9 - performance.now() / 1000;

/** Returns the current second of a monotonic clock that is the same in all threads of the process. */
function monotonicSecond(): number {
  return Math.floor(OFFSET_SECONDS + performance.now() / 1000);
}

/** What all selections of a group share until its peers change. */
interface GroupState {
  readonly set: PeerSet;
  readonly pick: Pick;
  readonly table: PeerTable;
  readonly log: ErrorLog;
  /** Returns the current second of a clock that all workers share. */
  readonly now: () => number;
}

/** The selection of peers for one request, with nginx's accounting of failures. */
class PeerSelection implements Selection {
  readonly #ground: GroupState;
  readonly #progress: Progress;
  #peer: LivePeer | undefined;
  #tries: number;
  #startedMs = 0;
  /**
   * Set if this request is the trial of a peer that was unavailable: the second of the trial, and the value of
   * `checked` before.
   */
  #trial: { readonly second: number; readonly before: number } | undefined;

  constructor(ground: GroupState, ask: BalancingInput) {
    const { set } = ground;
    this.#ground = ground;
    this.#progress = { ask, set, tried: [], hash: -1, rehash: 0, misses: 0 };
    this.#tries = set.tries + (set.backups?.tries ?? 0);
  }

  get tries(): number {
    return this.#tries;
  }

  get peer(): Peer | undefined {
    return this.#peer;
  }

  next(): Peer | undefined {
    this.done('unused');
    const { table, pick, now } = this.#ground;
    const peer = table.locked(() => this.#take(pick(this.#progress, now()), now()));
    this.#peer = peer;
    if (!peer) return undefined;
    peer.meter.given();
    this.#startedMs = performance.now();
    return peer;
  }

  done(outcome: Outcome): void {
    const peer = this.#peer;
    if (!peer) return;
    this.#peer = undefined;
    const isFailure = outcome === 'failed' || outcome === 'stale';
    peer.state.leave();
    peer.meter.done((performance.now() - this.#startedMs) / 1000, isFailure);
    if (this.#progress.set.isSingle) {
      this.#tries = outcome === 'stale' ? 1 : 0;
      return;
    }
    if (outcome !== 'stale') this.#tries = Math.max(0, this.#tries - 1);
    if (isFailure) this.#ground.table.locked(() => this.#blame(peer));
    else if (peer.state.fails > 0) this.#ground.table.locked(() => this.#clear(peer, outcome));
  }

  /** Must be called under the lock. */
  #take(peer: LivePeer | undefined, now: number): LivePeer | undefined {
    if (!peer) return undefined;
    const { state, failTimeoutSeconds } = peer;
    state.enter();
    if (this.#progress.set.isSingle) return peer;
    this.#progress.tried.push(peer);
    this.#trial = undefined;
    if (now - state.checked <= failTimeoutSeconds) return peer;
    this.#trial = { second: now, before: state.checked };
    state.checked = now;
    return peer;
  }

  #blame({ state, weight, maxFails, address }: LivePeer): void {
    const now = this.#ground.now();
    state.fails += 1;
    state.accessed = now;
    state.checked = now;
    if (maxFails === 0) return;
    state.effectiveWeight = Math.max(0, state.effectiveWeight - Math.trunc(weight / maxFails));
    if (state.fails >= maxFails)
      this.#ground.log.write('warn', `upstream server temporarily disabled, upstream: "${address}"`);
  }

  /** After a successful trial, the peer is available again. If the trial was not used, the next request may try. */
  #clear({ state }: LivePeer, outcome: Outcome): void {
    if (state.accessed >= state.checked) return;
    if (outcome !== 'unused') state.fails = 0;
    else if (this.#trial?.second === state.checked) state.checked = this.#trial.before;
  }
}

/** One address of a server, with the data of its SRV record. */
export interface ServerAddress {
  readonly address: string;
  readonly weight?: number;
  readonly backup?: boolean;
}

/** What a group needs of its worker. */
interface GroupScope {
  readonly table: PeerTable;
  /** Each peer has metrics of its own; where the number of peers is unlimited, all share one meter. */
  readonly metrics: Counters | PeerMeter;
  readonly log: ErrorLog;
  readonly now?: () => number;
}

const UP = {
  name: 'gw_upstream_peer_up',
  help: '1: the peer takes requests. 0: it is down, or left alone after failures.',
};

/** The peers of an upstream. The addresses of its servers may change. */
export class PeerGroup implements UpstreamGroup {
  readonly name: string;
  readonly key: ComplexValue | undefined;
  readonly wantsClientAddress: boolean;
  readonly keepalive: KeepaliveConfig;
  readonly connectionSet: string;
  readonly #plan: UpstreamPlan;
  readonly #scope: Required<GroupScope>;
  readonly #addresses: (readonly ServerAddress[])[];
  /** By key. A peer is the same object as long as its address does not change. */
  #peers: ReadonlyMap<string, KnownPeer> = new Map();
  #ground: GroupState;

  constructor(plan: UpstreamPlan, scope: GroupScope) {
    const { name, balancing, keepalive } = plan;
    this.name = name;
    this.key = balancing.kind === 'hash' ? balancing.key : undefined;
    this.wantsClientAddress = balancing.kind === 'ip_hash';
    this.keepalive = keepalive;
    this.connectionSet = scope.metrics instanceof PeerMeter ? 'request hosts' : upstreamZoneName(plan);
    this.#plan = plan;
    this.#scope = { now: monotonicSecond, ...scope };
    this.#addresses = plan.servers.map(fixedAddresses);
    this.#ground = this.#settle();
  }

  begin(ask: BalancingInput): Selection {
    return new PeerSelection(this.#ground, ask);
  }

  /** Sets the addresses of one server, by its index in the plan. Requests in progress continue with the old ones. */
  setAddresses(server: number, addresses: readonly ServerAddress[]): void {
    this.#addresses[server] = addresses;
    this.#ground = this.#settle();
  }

  view(): readonly PeerView[] {
    const now = this.#scope.now();
    return [...this.#peers.values()].map(({ peer }) => ({
      address: peer.address,
      name: peer.name,
      weight: peer.weight,
      backup: peer.backup,
      state: peer.down ? 'down' : this.#isResting(peer, now) ? 'unavailable' : 'up',
      fails: peer.state.fails,
      requests: peer.state.requests,
    }));
  }

  /** Releases the peers in shared memory. */
  close(): void {
    for (const { end } of this.#peers.values()) end();
    this.#peers = new Map();
  }

  #isResting(peer: LivePeer, now: number): boolean {
    return !this.#ground.set.isSingle && !isOpen({ ...peer, maxConnections: 0 }, now);
  }

  #settle(): GroupState {
    const before = this.#peers;
    const peers = new Map<string, KnownPeer>();
    for (const [index, server] of this.#plan.servers.entries()) {
      for (const address of this.#addresses[index] as readonly ServerAddress[]) {
        const key = freeKey(
          [server.name, address, server.weight, server.maxFails, server.failTimeoutSeconds],
          peers,
        );
        peers.set(key, before.get(key) ?? this.#open(key, server, address));
      }
    }
    this.#peers = peers;
    for (const [key, { end }] of before) if (!peers.has(key)) end();
    const set = peerSetOf([...peers.values()].map(({ peer }) => peer));
    const { table, log, now } = this.#scope;
    return { set, pick: compilePick(this.#plan.balancing, set), table, log, now };
  }

  #open(key: string, server: ServerConfig, { address, weight, backup }: ServerAddress): KnownPeer {
    const { table, metrics } = this.#scope;
    // A configured weight takes precedence over that of a record.
    const ownWeight = server.weight === 1 ? (weight ?? 1) : server.weight;
    const state = table.claim(key, ownWeight);
    const peer: LivePeer = {
      address,
      name: server.name,
      weight: ownWeight,
      maxConnections: server.maxConnections,
      maxFails: server.maxFails,
      failTimeoutSeconds: server.failTimeoutSeconds,
      backup: server.backup || backup === true,
      down: server.down,
      state,
      meter:
        metrics instanceof PeerMeter
          ? metrics
          : new PeerMeter(metrics, { upstream: this.name, peer: address }),
    };
    const hide = this.#plan.implicit || metrics instanceof PeerMeter ? undefined : this.#show(peer, metrics);
    const end = (): void => {
      hide?.();
      state.release();
    };
    return { peer, end };
  }

  #show(peer: LivePeer, metrics: Counters): () => void {
    const labels = { upstream: this.name, peer: peer.address };
    const read = (): number => (peer.down || this.#isResting(peer, this.#scope.now()) ? 0 : 1);
    return metrics.collect('gauge', { metric: UP, labels, read });
  }
}

interface KnownPeer {
  readonly peer: LivePeer;
  readonly end: () => void;
}

function fixedAddresses({ target }: ServerConfig): readonly ServerAddress[] {
  if (target.kind === 'name') return [];
  return [{ address: target.kind === 'unix' ? `unix:${target.path}` : target.address }];
}

/** Returns an unused key: a server that is listed several times is a separate peer each time. */
function freeKey(facts: readonly unknown[], taken: ReadonlyMap<string, unknown>): string {
  for (let nth = 1; ; nth++) {
    const key = JSON.stringify([...facts, nth]);
    if (!taken.has(key)) return key;
  }
}
