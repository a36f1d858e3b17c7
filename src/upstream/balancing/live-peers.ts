import type { PeerState } from '../../zone/index.ts';
import type { PeerMeter } from '../meters.ts';
import type { Probing, BalancingInput, Peer, Rejection } from '../interfaces.ts';

/** A peer of a group with its parameters and state. */
export interface LivePeer extends Peer {
  readonly weight: number;
  readonly maxConnections: number;
  readonly maxFails: number;
  readonly failTimeoutSeconds: number;
  readonly backup: boolean;
  readonly down: boolean;
  /** Only requests that are bound to it are sent to it. */
  readonly drain: boolean;
  readonly slowStartMs: number;
  readonly state: PeerState;
  readonly meter: PeerMeter;
  /** Absent if the group has no active checks. */
  readonly probing: Probing | undefined;
}

/** The peers among which one is chosen, in the order of the configuration. */
export interface PeerSet {
  readonly peers: readonly LivePeer[];
  /** True for one peer without backups: it is tried whatever happened before. */
  readonly isSingle: boolean;
  readonly totalWeight: number;
  /** Peers that are not `down`. */
  readonly tries: number;
  /** Some peers have a slow start: weights are multiplied so that parts of them count. */
  readonly isRamped: boolean;
  /** Used when none of these peers is available. */
  readonly backups: PeerSet | undefined;
}

/** Splits the peers of a group into primaries and backups (nginx: ngx_http_upstream_init_round_robin). */
export function peerSetOf(peers: readonly LivePeer[]): PeerSet {
  const primary = peers.filter(({ backup }) => !backup);
  const others = peers.filter(({ backup }) => backup);
  const backups = others.length > 0 ? setOf(others, undefined) : undefined;
  return setOf(primary, backups);
}

function setOf(peers: readonly LivePeer[], backups: PeerSet | undefined): PeerSet {
  return {
    peers,
    isSingle: peers.length === 1 && !backups && !peers[0]?.backup,
    totalWeight: peers.reduce((sum, { weight }) => sum + weight, 0),
    tries: peers.filter(({ down }) => !down).length,
    isRamped: peers.length > 1 && peers.some(({ slowStartMs }) => slowStartMs > 0),
    backups,
  };
}

/** Tells whether active checks keep a peer from being selected. */
export function isExcluded({ probing, state }: LivePeer): boolean {
  return probing !== undefined && !probing.isIgnored && state.exclusions !== 0;
}

/** Tells whether fewer peers than this part are healthy. Those that are `down` do not count. */
export function isPanicking({ peers }: PeerSet, panicPercent: number): boolean {
  let all = 0;
  let healthy = 0;
  for (const { down, state } of peers) {
    if (down) continue;
    all++;
    if (state.exclusions === 0) healthy++;
  }
  return healthy * 100 < all * panicPercent;
}

/** Tells whether a peer can take a request that is bound to it. */
export function canServe(peer: LivePeer, nowMs: number): boolean {
  const { down, maxConnections, state } = peer;
  if (down || isExcluded(peer) || isResting(peer, nowMs)) return false;
  return maxConnections === 0 || state.requests < maxConnections;
}

/** Tells whether a peer can take any request. */
export function isOpen(peer: LivePeer, nowMs: number): boolean {
  return !peer.drain && canServe(peer, nowMs);
}

/** Returns why a peer cannot take a request; `isBound`: one that is bound to it. */
export function rejectionOf(peer: LivePeer, nowMs: number, isBound: boolean): Rejection {
  if (peer.down) return 'down';
  if (isExcluded(peer)) return 'unhealthy';
  if (peer.drain && !isBound) return 'draining';
  return isResting(peer, nowMs) ? 'fail_window' : 'max_conns';
}

/** Tells whether a peer is left alone because of its failures. */
export function isResting({ maxFails, failTimeoutSeconds, state }: LivePeer, nowMs: number): boolean {
  return (
    maxFails > 0 && state.fails >= maxFails && Math.floor(nowMs / 1000) - state.checked <= failTimeoutSeconds
  );
}

/** Returns the part of its weight that a peer has during its slow start; otherwise 1. */
export function rampOf({ slowStartMs, state }: LivePeer, nowMs: number): number {
  const { slowStartFrom } = state;
  if (slowStartMs === 0 || slowStartFrom === 0) return 1;
  const part = (nowMs - slowStartFrom) / slowStartMs;
  if (part < 1) return Math.max(0, part);
  state.slowStartFrom = 0;
  return 1;
}

/** Returns the peer at a weighted position: each peer covers as many positions as its weight. */
export function peerAt(peers: readonly LivePeer[], position: number): LivePeer | undefined {
  let rest = position;
  for (const peer of peers) {
    if (rest < peer.weight) return peer;
    rest -= peer.weight;
  }
  return undefined;
}

/** The state of one request's selection among the peers of a group. */
export interface Progress {
  readonly ask: BalancingInput;
  set: PeerSet;
  /** Peers of the set that this request has tried. */
  tried: LivePeer[];
  /** The last hash of the hash methods. */
  hash: number;
  rehash: number;
  /** Number of peers that a hash or random method has chosen in vain. */
  misses: number;
}

/**
 * Chooses the next peer at a time of the shared clock, in ms; called under the lock of the group. Switches to the backups
 * if no other peer is available.
 */
export type Pick = (progress: Progress, nowMs: number) => LivePeer | undefined;

/** After more misses, round robin decides (nginx). */
export const MAX_MISSES = 20;
