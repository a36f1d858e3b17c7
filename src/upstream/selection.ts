import type { ComplexValue } from '../config/index.ts';
import type { AddressRule } from './host-policy.ts';
import type { KeepaliveConfig, ResolverConfig } from './plan.ts';

/** One address that requests can be sent to. The same object as long as the address belongs to its group. */
export interface Peer {
  /** `127.0.0.1:8080`, `[::1]:8080` or `unix:/path`: never a name. `$upstream_addr`, and what to connect to. */
  readonly address: string;
  /** The `server` as written: for messages. */
  readonly name: string;
}

/**
 * How it went with a peer. `failed`: counts against it. `stale`: a kept-alive connection had been closed meanwhile; counts like
 * a failure, but costs no try. `unused`: nothing was learnt (the client left).
 */
export type Outcome = 'ok' | 'failed' | 'stale' | 'unused';

/** One request's way through the peers of a group: `next`, `done`, `next`, `done` … */
export interface Selection {
  /** Peers that may still be tried; 0 after the last one failed: the request ends then with what that peer said. */
  readonly tries: number;
  /** The peer that was given last, until `done`. */
  readonly peer: Peer | undefined;
  /**
   * The next peer, never one that this request has had (but the only one of a group after `stale`); backups after all others.
   * `undefined`: no live upstreams.
   */
  next(): Peer | undefined;
  /** Must follow each peer that `next` gave, once; later calls do nothing. */
  done(outcome: Outcome): void;
}

/** What the balancing of a group wants to know of a request. */
export interface BalancingInput {
  /** Value of the group's `key`. */
  readonly key?: string;
  /** Only where the group's `wantsClientAddress`. */
  readonly clientAddress?: string;
}

/** How a peer is at this moment, for those who look. */
export interface PeerView {
  readonly address: string;
  readonly name: string;
  readonly weight: number;
  readonly backup: boolean;
  /** `unavailable`: left alone after too many failures. */
  readonly state: 'up' | 'down' | 'unavailable';
  readonly fails: number;
  /** Requests at this moment, in all workers. */
  readonly requests: number;
}

/** A group of peers: an `upstream` block, a literal host, or a host that a request named. */
export interface UpstreamGroup {
  /** Of the block, or `host` / `host:port` as written: what messages and `$upstream_addr` say when no peer is left. */
  readonly name: string;
  /** `hash`: compile it with `build.value` and hand it over with each request. */
  readonly key: ComplexValue | undefined;
  /** `ip_hash`: ask the build for the peer's address (`needPeer`). */
  readonly wantsClientAddress: boolean;
  readonly keepalive: KeepaliveConfig;
  /** Groups of the same set share their kept connections: hosts that requests name are one set, for they have no bound. */
  readonly connectionSet: string;
  begin(ask: BalancingInput): Selection;
  /** All peers at this moment. */
  view(): readonly PeerView[];
}

/** A host as the configuration names it where an upstream may stand. */
export interface UpstreamAddress {
  /** A name, an address (IPv6 in brackets) or `unix:/path`. */
  readonly host: string;
  /** As written. Absent: an `upstream` block of this name comes first, else the default port counts. */
  readonly port?: number;
  readonly defaultPort: number;
}

/** Every group of one configuration in one worker: `worker.upstreams`. */
export interface Upstreams {
  /** All `upstream` blocks. */
  readonly groups: readonly UpstreamGroup[];
  /**
   * The `upstream` block of that name (its case does not count; only without a port), else the group of a literal host that the
   * module has told of (`upstreams` of its definition).
   */
  find(address: UpstreamAddress): UpstreamGroup | undefined;
  /** The `upstream` block of that name, and no host that the configuration happens to name elsewhere. */
  block(address: Pick<UpstreamAddress, 'host' | 'port'>): UpstreamGroup | undefined;
  /** The way to hosts that requests name; ask for it at load time with what the location says of `resolver`. */
  hosts(resolving: Resolving): RequestHosts;
}

/** `resolver` and `resolver_timeout` of a location (`build.core`). */
export interface Resolving {
  /** Absent: only addresses are known, no names. */
  readonly resolver: ResolverConfig | undefined;
  readonly timeoutMs: number;
  /** What each address of a host must be like; absent: any will do. */
  readonly addresses?: AddressRule;
}

/** Groups of hosts that come out of variables. */
export interface RequestHosts {
  /**
   * At once for an address and for a name that is known. Throws, or rejects with, a `ResolveFault`: the answer is 502; or a
   * `HostRefused` where an address is not one of those that hosts may have. No peer of such a group ever has another one.
   */
  group(host: string, port: number): UpstreamGroup | Promise<UpstreamGroup>;
}
