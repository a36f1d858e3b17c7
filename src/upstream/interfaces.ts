import type { ComplexValue } from '../config/index.ts';
import type { AddressRule } from './names/host-policy.ts';
import type { ObservedTrace, PeerState, Seat, Verdict } from '../zone/index.ts';
import type { Member } from './members/member.ts';
import type { Membership } from './members/membership.ts';
import type { KeepaliveConfig, ResolverConfig, Sticky, ProbingConfig } from './plan.ts';
import type { Sessions } from './balancing/sessions.ts';

/** One address of a group. It is the same object as long as the group has the address. */
export interface Peer {
  /** `127.0.0.1:8080`, `[::1]:8080` or `unix:/path`, never a name: the address to connect to, and `$upstream_addr`. */
  readonly address: string;
  /** The `server` as written, for messages. */
  readonly name: string;
  /** Identifies the peer in `sticky`: its `route`, or the MD5 of its address. */
  readonly id: string;
}

/**
 * The result of a request to a peer. `failed` counts against the peer. `stale`: a kept-alive connection had been
 * closed; counts as a failure, but not as a try. `unprocessed`: the peer has refused the request without looking at it, as
 * when it closes a shared connection; counts as neither. `unused`: nothing was learnt, because the client closed its
 * connection.
 */
export type Outcome = 'ok' | 'failed' | 'stale' | 'unprocessed' | 'unused';

/** The selection of peers for one request: `next`, `done`, `next`, `done` … */
export interface Selection {
  /** Number of further tries. 0 after the last peer failed: its result then ends the request. */
  readonly tries: number;
  /** The peer that `next` returned last, until `done`. */
  readonly peer: Peer | undefined;
  /**
   * Returns the next peer: one that this request has not tried (except the only one of a group after `stale`), backups
   * last. `undefined` means "no live upstreams".
   */
  next(): Peer | undefined;
  /** To be called when the head of the response that will be sent has arrived. A stream counts until its head only. */
  headArrived(isStream: boolean): void;
  /** Must be called once for each peer that `next` returned; later calls do nothing. `trace`: that of the try. */
  done(outcome: Outcome, trace?: ObservedTrace): void;
}

/** The properties of a request that balancing needs. */
export interface BalancingInput {
  /** The value of the group's `key`. */
  readonly key?: string;
  /** Set only if the group has `wantsClientAddress`. */
  readonly clientAddress?: string;
  /** Present if the group is `sticky`. */
  readonly binding?: PeerBinding;
}

/** The peer that a request is bound to, and the listeners for the peers that it gets. */
export interface PeerBinding {
  /** The id of the peer; '': the request is not bound by an id. */
  readonly id: string;
  /** The address of the peer. */
  readonly address?: string;
  /** A position among the peers that can serve the request, by weight. */
  readonly hash?: number;
  /** No other peer may serve the request. */
  readonly isStrict?: boolean;
  /** Called once with whether the request gets the peer that it is bound to. */
  decided?(isBound: boolean): void;
  /** Called for each peer that it names, or that its hash could fall on, but that may not serve it. */
  rejected?(reason: Rejection): void;
  /** Called for each try. */
  picked?(peer: Peer): void;
  /** Called when the head of the response that will be sent has arrived. */
  headArrived?(peer: Peer): void;
  /** Called when that response has ended. */
  ended?(peer: Peer): void;
}

/** The result of one check of one peer, for status pages. Times are in ms since the epoch. */
export interface CheckView {
  /** The probed URI or URL. */
  readonly uri: string;
  readonly verdict: Verdict;
  /** Probes in a row that succeeded or failed. */
  readonly passes: number;
  readonly fails: number;
  /** All probes by their result. */
  readonly successes: number;
  readonly failures: number;
  /** Of the last probe; status 0: no response. */
  readonly status: number;
  readonly spentMs: number;
  /** 0: not probed yet. */
  readonly probedMs: number;
  /** 0: the verdict never changed. */
  readonly changedMs: number;
}

/** Why a peer may not serve a request. */
export type Rejection = 'tried' | 'down' | 'unhealthy' | 'fail_window' | 'max_conns' | 'draining';

/** The current state of a peer, for status pages. */
export interface PeerView {
  readonly address: string;
  readonly name: string;
  readonly weight: number;
  readonly backup: boolean;
  /**
   * `unavailable`: not used for some time after too many failures. `failing`: used, because there is no other one or its
   * time is over, but the last requests all failed. `draining`: takes bound requests only.
   */
  readonly state:
    'up' | 'down' | 'unavailable' | 'failing' | 'unhealthy' | 'checking' | 'draining' | 'slow_start';
  readonly fails: number;
  /** Requests in progress, over all workers. */
  readonly requests: number;
  /** All its settings, as the API of managed groups writes them. */
  readonly member: Member;
  /** The results of active checks; absent if the group has none. */
  readonly checks?: readonly CheckView[];
}

/** A group of peers: an `upstream` block, a literal host, or a host from variables. */
export interface UpstreamGroup {
  /**
   * The block's name, or `host` / `host:port` as written; used in messages, and in `$upstream_addr` if no peer is
   * available.
   */
  readonly name: string;
  /** A directive that the group needs and gw does not support: requests to the group get 501. */
  readonly skipped?: string | undefined;
  /** The key of `hash`: to be compiled with `build.value` and passed with each request. */
  readonly key: ComplexValue | undefined;
  /** How requests are bound to peers: to be compiled with `compileSticky` and passed with each request. */
  readonly sticky: Sticky | undefined;
  /** How a peer is selected, in the words of the configuration; `round_robin`. */
  readonly method: string;
  /** The sessions of `sticky learn`. */
  readonly sessions: Sessions | undefined;
  /** Present if the members may change while the group serves (`dynamic_upstreams_managed`). */
  readonly membership: Membership | undefined;
  /** Identifies the servers of the configuration. */
  readonly configured: string;
  /** `ip_hash`: the build must be asked for the peer's address (`needPeer`). */
  readonly wantsClientAddress: boolean;
  readonly keepalive: KeepaliveConfig;
  /**
   * Groups of the same set share their kept-alive connections. Hosts from variables are one set, since their number is
   * unlimited.
   */
  readonly connectionSet: string;
  begin(ask: BalancingInput): Selection;
  /** Returns the peer with an address. */
  peerAt(address: string): Peer | undefined;
  /** Returns the current state of all peers. */
  view(): readonly PeerView[];
}

/** A host in the configuration that may be the name of an `upstream` block. */
export interface UpstreamAddress {
  /** A name, an address (IPv6 in brackets) or `unix:/path`. */
  readonly host: string;
  /** As written. Without it, an `upstream` block of this name takes precedence over a host with the default port. */
  readonly port?: number;
  readonly defaultPort: number;
}

/** All groups of one configuration in one worker: `worker.upstreams`. */
export interface Upstreams {
  /** The `upstream` blocks. */
  readonly groups: readonly UpstreamGroup[];
  /**
   * Returns the `upstream` block of that name (case-insensitive, only without a port), else the group of a literal host
   * that the module has declared (`upstreams` of its definition).
   */
  find(address: UpstreamAddress): UpstreamGroup | undefined;
  /** Returns the `upstream` block of that name, but no group of a literal host. */
  block(address: Pick<UpstreamAddress, 'host' | 'port'>): UpstreamGroup | undefined;
  /**
   * Returns how the peers of a managed group are looked up by name, with the resolver of its block; `undefined` if it has
   * none.
   */
  memberLookup(group: string, name: MemberName): MemberLookup | undefined;
  /**
   * Returns the groups of hosts from variables, for the `resolver` settings of a location. To be called at load time.
   */
  hosts(resolving: Resolving): RequestHosts;
  /** Looks up the TXT records of a name; none if there is no such name. Rejects with a `ResolveFault`. */
  texts(resolving: Resolving, name: string): Promise<readonly string[]>;
}

/** A name whose addresses are the peers of a group; `service` looks up SRV records. */
export interface MemberName {
  readonly host: string;
  readonly port: number;
  readonly service?: string;
}

/** Looks the peers up. Rejects if nothing was learnt; a name that does not exist has no addresses. */
export type MemberLookup = () => Promise<{
  readonly addresses: readonly {
    readonly address: string;
    readonly weight?: number;
    readonly backup?: boolean;
  }[];
  /** How long they are valid. */
  readonly againMs: number | undefined;
}>;

/** The `resolver` and `resolver_timeout` of a location (`build.core`). */
export interface Resolving {
  /** Without it, names cannot be resolved. */
  readonly resolver: ResolverConfig | undefined;
  readonly timeoutMs: number;
  /** The rule for addresses of a host; absent: any address is allowed. */
  readonly addresses?: AddressRule;
}

/** The groups of hosts from variables. */
export interface RequestHosts {
  /**
   * Returns the group of a host: immediately for an address or a cached name, else as a promise. Throws, or rejects
   * with, a `ResolveFault` (response: 502), or a `HostRefused` if an address is not allowed. A peer of such a group
   * never changes its address.
   */
  group(host: string, port: number): UpstreamGroup | Promise<UpstreamGroup>;
  /** Returns the group of a Unix socket: `unix:/path`. Throws a `ResolveFault`. */
  socket(address: string): UpstreamGroup;
}

/** The state of active checks of a group, shared by its peers. */
export interface Probing extends ProbingConfig {
  /** Too few peers are healthy. */
  isIgnored: boolean;
}

/** A peer as active checks see it. */
export interface ProbedPeer extends Peer {
  readonly down: boolean;
  readonly backup: boolean;
  readonly weight: number;
  readonly slowStartMs: number;
  readonly state: PeerState;
}

/** A group as active checks see it. */
export interface ProbedGroup {
  readonly name: string;
  /** Its holder sends the probes for all threads. */
  readonly seat: Seat;
  /** Runs `act` under the lock of the group's shared memory. */
  locked<T>(act: () => T): T;
  /** Takes over changes of the group's members; the checks are told of them. */
  followMembers(): void;
  /** Installs the checks: they are told the peers now, and again before others are selected. */
  checkBy(checks: PeerChecks): void;
}

/** The active checks of a group. */
export interface PeerChecks {
  /** Called with all peers of the group. A peer is the same object as long as its address does not change. */
  follow(peers: readonly ProbedPeer[]): void;
  view(peer: ProbedPeer): readonly CheckView[];
}
