import { createHash } from 'node:crypto';
import type { ComplexValue } from '../config/index.ts';
import type { ErrorLog } from '../log/index.ts';
import { type Member, memberOf, serverOf } from './members/member.ts';
import { Membership } from './members/membership.ts';
import {
  CHECKING,
  type Counters,
  type Dictionary,
  monotonicMs,
  type PeerTable,
  type Seat,
  type SharedText,
  UNHEALTHY,
} from '../zone/index.ts';
import { compilePick } from './balancing/methods.ts';
import { type GroupState, PeerSelection } from './balancing/peer-selection.ts';
import { isResting, type LivePeer, peerSetOf, rampOf } from './balancing/live-peers.ts';
import { PeerMeter, StickyMeter } from './meters.ts';
import type {
  PeerChecks,
  ProbedGroup,
  Probing,
  BalancingInput,
  Peer,
  PeerView,
  Selection,
  UpstreamGroup,
} from './interfaces.ts';
import {
  type Balancing,
  configuredDigest,
  type KeepaliveConfig,
  methodText,
  type ServerConfig,
  type Sticky,
  type UpstreamPlan,
  upstreamZoneName,
} from './plan.ts';
import { Sessions } from './balancing/sessions.ts';

/** One address of a server, with the data of its SRV record. */
export interface ServerAddress {
  readonly address: string;
  readonly weight?: number;
  readonly backup?: boolean;
}

/** The parts of a worker that a group needs. */
interface GroupScope {
  readonly table: PeerTable;
  /** Each peer has metrics of its own; where the number of peers is unlimited, all share one meter. */
  readonly metrics: Counters | PeerMeter;
  readonly log: ErrorLog;
  /** The sessions of `sticky learn`. */
  readonly sessions?: Dictionary;
  /** The members of a group that may change. */
  readonly members?: SharedText;
  readonly nowMs?: () => number;
}

const UP = {
  name: 'gw_upstream_peer_up',
  help: '1: the peer takes requests. 0: it is down, left alone after failures, or the last requests to it all failed.',
};

const STATE = { name: 'gw_upstream_peer_state', help: '1: the peer is in this state.' };
const GENERATION = {
  name: 'gw_upstream_generation',
  help: 'Number of sets of peers that a managed upstream has had.',
};

const STATES: readonly PeerView['state'][] = [
  'up',
  'down',
  'unavailable',
  'failing',
  'unhealthy',
  'checking',
  'draining',
  'slow_start',
];

/** The peers of an upstream. The addresses of its servers may change. */
export class PeerGroup implements UpstreamGroup, ProbedGroup {
  readonly name: string;
  readonly skipped: string | undefined;
  readonly key: ComplexValue | undefined;
  readonly sticky: Sticky | undefined;
  readonly method: string;
  readonly sessions: Sessions | undefined;
  readonly membership: Membership | undefined;
  readonly configured: string;
  readonly wantsClientAddress: boolean;
  readonly keepalive: KeepaliveConfig;
  readonly connectionSet: string;
  readonly #plan: UpstreamPlan;
  readonly #scope: GroupScope & { readonly nowMs: () => number };
  readonly #addresses: (readonly ServerAddress[])[];
  /** Made when it is needed. */
  #byAddress: ReadonlyMap<string, Peer> | undefined;
  /** By key. A peer is the same object as long as its address does not change. */
  #peers: ReadonlyMap<string, KnownPeer> = new Map();
  readonly #stickyMeter: StickyMeter | undefined;
  readonly #probing: Probing | undefined;
  #checks: PeerChecks | undefined;
  readonly #hide: (() => void) | undefined;
  /** The revision of the members that was looked at last. */
  #revision = 0;
  /** The members and the draining peers in use. */
  #adopted = '';
  #members: readonly ServerConfig[] | undefined;
  #draining: (address: string) => boolean = () => false;
  #ground: GroupState;

  constructor(plan: UpstreamPlan, scope: GroupScope) {
    const { name, balancing, keepalive } = plan;
    this.name = name;
    this.skipped = plan.skipped;
    this.key = balancing.kind === 'hash' ? balancing.key : undefined;
    this.sticky = plan.sticky;
    this.method = methodText(balancing);
    if (scope.sessions && plan.sticky?.kind === 'learn')
      this.sessions = new Sessions(scope.sessions, plan.sticky.timeoutMs);
    this.configured = configuredDigest(plan);
    this.wantsClientAddress = balancing.kind === 'ip_hash';
    this.keepalive = keepalive;
    this.connectionSet = scope.metrics instanceof PeerMeter ? 'request hosts' : upstreamZoneName(plan);
    this.#plan = plan;
    this.#scope = { nowMs: monotonicMs, ...scope };
    this.#addresses = plan.servers.map(fixedAddresses);
    if (plan.sticky && !(scope.metrics instanceof PeerMeter))
      this.#stickyMeter = new StickyMeter(scope.metrics, name);
    this.membership =
      scope.members && plan.managedPeers !== undefined
        ? new Membership(scope.members, plan.managedPeers, {
            configured: () => this.#configured(),
            isUnhealthy: (address) => this.#isUnhealthy(address),
          })
        : undefined;
    this.#probing = plan.probing && { ...plan.probing, isIgnored: false };
    this.#ground = this.#settle();
    this.#hide = this.#showGeneration();
  }

  /** The seat of the worker that probes the peers. */
  get seat(): Seat {
    return this.#scope.table.seat;
  }

  locked<T>(act: () => T): T {
    return this.#scope.table.locked(act);
  }

  followMembers(): void {
    if (this.membership && this.membership.revision !== this.#revision) this.#adopt(this.membership);
  }

  checkBy(checks: PeerChecks): void {
    this.#checks = checks;
    checks.follow([...this.#peers.values()].map(({ peer }) => peer));
  }

  begin(ask: BalancingInput): Selection {
    this.followMembers();
    return new PeerSelection(this.#ground, ask);
  }

  peerAt(address: string): Peer | undefined {
    this.followMembers();
    this.#byAddress ??= new Map([...this.#peers.values()].map(({ peer }) => [peer.address, peer]));
    return this.#byAddress.get(address);
  }

  /** Sets the addresses of one server, by its index in the plan. Requests in progress continue with the old ones. */
  setAddresses(server: number, addresses: readonly ServerAddress[]): void {
    this.#addresses[server] = addresses;
    this.#ground = this.#settle();
  }

  view(): readonly PeerView[] {
    if (this.membership) this.#adopt(this.membership);
    const nowMs = this.#scope.nowMs();
    return [...this.#peers.values()].map(({ peer, server }) => ({
      member: memberOf(server, peer.address, peer.weight),
      address: peer.address,
      name: peer.name,
      weight: peer.weight,
      backup: peer.backup,
      state: this.#stateOf(peer, nowMs),
      fails: peer.state.fails,
      requests: peer.state.requests,
      ...(this.#checks && { checks: this.#checks.view(peer) }),
    }));
  }

  /** Takes over the members as they are now. */
  #adopt(membership: Membership): void {
    const { revision, set } = membership;
    this.#revision = revision;
    const { peers, draining } = set;
    const key = JSON.stringify([peers, draining]);
    if (key === this.#adopted) return;
    this.#adopted = key;
    const isDraining = (address: string): boolean => draining.includes(address);
    this.#draining = isDraining;
    this.#members = peers?.map((member) => serverOf(member, isDraining(member.address)));
    this.#ground = this.#settle();
  }

  /** The configured servers at their present addresses. */
  #configured(): readonly Member[] {
    return this.#plan.servers.flatMap((server, index) =>
      (this.#addresses[index] ?? []).map(({ address, weight = 1 }) =>
        memberOf(server, address, server.weight === 1 ? weight : server.weight),
      ),
    );
  }

  #isUnhealthy(address: string): boolean {
    return [...this.#peers.values()].some(
      ({ peer }) =>
        peer.address === address && peer.probing !== undefined && (peer.state.exclusions & UNHEALTHY) !== 0,
    );
  }

  /** Releases the peers in shared memory. */
  close(): void {
    this.#hide?.();
    for (const { end } of this.#peers.values()) end();
    this.#peers = new Map();
  }

  #showGeneration(): (() => void) | undefined {
    const { membership } = this;
    const { metrics } = this.#scope;
    if (!membership || metrics instanceof PeerMeter) return undefined;
    const labels = { upstream: this.name };
    return metrics.collect('gauge', { metric: GENERATION, labels, read: () => membership.set.generation });
  }

  #stateOf(peer: LivePeer, nowMs: number): PeerView['state'] {
    if (peer.down) return 'down';
    const exclusions = peer.probing ? peer.state.exclusions : 0;
    if (exclusions !== 0) return exclusions === CHECKING ? 'checking' : 'unhealthy';
    if (!this.#ground.set.isSingle && isResting(peer, nowMs)) return 'unavailable';
    // Where probes judge the peers, an old failure of a request says nothing.
    if (!peer.probing && peer.state.isFailing) return 'failing';
    if (peer.drain) return 'draining';
    return this.#ground.set.isRamped && rampOf(peer, nowMs) < 1 ? 'slow_start' : 'up';
  }

  #settle(): GroupState {
    const before = this.#peers;
    const peers = new Map<string, KnownPeer>();
    const slots = new Set<string>();
    for (const [server, addresses] of this.#servers()) {
      for (const address of addresses) {
        const slot = freeSlot(address.address, slots);
        slots.add(slot);
        const key = JSON.stringify([slot, server, address]);
        peers.set(key, before.get(key) ?? this.#open(slot, server, address));
      }
    }
    this.#peers = peers;
    this.#byAddress = undefined;
    for (const [key, { end }] of before) if (!peers.has(key)) end();
    const known = [...peers.values()].map(({ peer }) => peer);
    this.#checks?.follow(known);
    const set = peerSetOf(known);
    const { table, log, nowMs } = this.#scope;
    const { balancing } = this.#plan;
    return {
      set,
      pick: compilePick(balancing, set),
      table,
      log,
      nowMs,
      isTimed: isTimed(balancing),
      sticky: this.#stickyMeter,
      probing: this.#probing,
    };
  }

  /** The servers and their addresses: the members that were set, or those of the configuration. */
  #servers(): readonly (readonly [ServerConfig, readonly ServerAddress[]])[] {
    if (this.#members) return this.#members.map((server) => [server, fixedAddresses(server)]);
    return this.#plan.servers.flatMap((server, index) =>
      (this.#addresses[index] ?? []).map((address) => {
        const drain = server.drain || this.#draining(address.address);
        return [drain === server.drain ? server : { ...server, drain }, [address]] as const;
      }),
    );
  }

  #open(slot: string, server: ServerConfig, { address, weight, backup }: ServerAddress): KnownPeer {
    const { table, metrics } = this.#scope;
    // A configured weight takes precedence over that of a record.
    const ownWeight = server.weight === 1 ? (weight ?? 1) : server.weight;
    const state = table.claim(slot, ownWeight);
    const peer: LivePeer = {
      address,
      name: server.name,
      id: server.route ?? createHash('md5').update(address).digest('hex'),
      weight: ownWeight,
      maxConnections: server.maxConnections,
      maxFails: server.maxFails,
      failTimeoutSeconds: server.failTimeoutSeconds,
      backup: server.backup || backup === true,
      down: server.down,
      drain: server.drain,
      slowStartMs: server.slowStartMs || (this.#probing?.slowStartMs ?? 0),
      probing: this.#probing,
      state,
      meter:
        metrics instanceof PeerMeter
          ? metrics
          : new PeerMeter(metrics, { upstream: this.name, peer: address }),
    };
    const hide = metrics instanceof PeerMeter ? undefined : this.#show(peer, metrics);
    const end = (): void => {
      hide?.();
      state.release();
    };
    return { peer, server, end };
  }

  #show(peer: LivePeer, metrics: Counters): () => void {
    const labels = { upstream: this.name, peer: peer.address };
    const stateOf = (): PeerView['state'] => this.#stateOf(peer, this.#scope.nowMs());
    const ends = [
      metrics.collect('gauge', { metric: UP, labels, read: () => (TAKING.has(stateOf()) ? 1 : 0) }),
    ];
    // A configuration may have thousands of peers: their states are told where they change at run time.
    const states = this.#probing || this.membership ? STATES : [];
    for (const state of states) {
      const read = (): number => (stateOf() === state ? 1 : 0);
      ends.push(metrics.collect('gauge', { metric: STATE, labels: { ...labels, state }, read }));
    }
    return () => {
      for (const end of ends) end();
    };
  }
}

interface KnownPeer {
  readonly peer: LivePeer;
  readonly server: ServerConfig;
  readonly end: () => void;
}

function fixedAddresses({ target }: ServerConfig): readonly ServerAddress[] {
  if (target.kind === 'name') return [];
  return [{ address: target.kind === 'unix' ? `unix:${target.path}` : target.address }];
}

/**
 * Returns the name of a peer's state in shared memory: its address, since a reload keeps the state whatever else changes. A
 * server that is listed several times is a separate peer each time.
 */
function freeSlot(address: string, taken: ReadonlySet<string>): string {
  for (let nth = 1; ; nth++) {
    const slot = `${address} ${nth}`;
    if (!taken.has(slot)) return slot;
  }
}

/** Tells whether a balancing method needs the mean times of the peers. */
function isTimed(balancing: Balancing): boolean {
  if (balancing.kind === 'random') return balancing.two !== undefined && balancing.two !== 'least_conn';
  return balancing.kind === 'least_time';
}

/** The states of a peer that takes requests. */
const TAKING: ReadonlySet<PeerView['state']> = new Set(['up', 'slow_start']);
