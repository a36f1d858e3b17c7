import type { ComplexValue } from '../config/index.ts';
import type { ErrorLog } from '../log/index.ts';
import type { Counters, PeerTable } from '../zone/index.ts';
import { compilePick, isOpen, peerSetOf } from './balancing/index.ts';
import type { LivePeer } from './balancing/index.ts';
import { monotonicSecond } from './clock.ts';
import { PeerMeter } from './meter.ts';
import type { KeepaliveConfig, ServerConfig, UpstreamPlan } from './plan.ts';
import type { Ask, PeerView, Selection, UpstreamGroup } from './selection.ts';
import { Way } from './way.ts';
import type { Ground } from './way.ts';
import { upstreamZoneName } from './zone.ts';

/** One address of a server, with what an SRV record says of it. */
export interface ServerAddress {
  readonly address: string;
  readonly weight?: number;
  readonly backup?: boolean;
}

/** What a group works with in its worker. */
export interface GroupScope {
  readonly table: PeerTable;
  /** Each peer has its own numbers, or, where peers have no bound, all have these. */
  readonly metrics: Counters | PeerMeter;
  readonly log: ErrorLog;
  readonly now?: () => number;
}

const UP = {
  name: 'gw_upstream_peer_up',
  help: '1: the peer takes requests. 0: it is down, or left alone after failures.',
};

/** The servers of an upstream with their addresses, which may change. */
export class PeerGroup implements UpstreamGroup {
  readonly name: string;
  readonly key: ComplexValue | undefined;
  readonly wantsClientAddress: boolean;
  readonly keepalive: KeepaliveConfig;
  readonly connectionSet: string;
  readonly #plan: UpstreamPlan;
  readonly #scope: Required<GroupScope>;
  readonly #addresses: (readonly ServerAddress[])[];
  /** By key: a peer stays the same object as long as its address stays. */
  #peers: ReadonlyMap<string, KnownPeer> = new Map();
  #ground: Ground;

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

  begin(ask: Ask): Selection {
    return new Way(this.#ground, ask);
  }

  /** The addresses of one server, by its place in the plan. Requests on their way go on with those they began with. */
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

  /** Gives back what the group holds in shared memory. */
  close(): void {
    for (const { end } of this.#peers.values()) end();
    this.#peers = new Map();
  }

  #isResting(peer: LivePeer, now: number): boolean {
    return !this.#ground.set.isSingle && !isOpen({ ...peer, maxConnections: 0 }, now);
  }

  #settle(): Ground {
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
    // The weight that the configuration sets goes before that of a record.
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

/** The same server may stand in a group several times: each is a peer of its own. */
function freeKey(facts: readonly unknown[], taken: ReadonlyMap<string, unknown>): string {
  for (let nth = 1; ; nth++) {
    const key = JSON.stringify([...facts, nth]);
    if (!taken.has(key)) return key;
  }
}
