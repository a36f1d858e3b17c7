import type { PeerState } from '../../zone/index.ts';
import type { PeerMeter } from '../meter.ts';
import type { Peer } from '../selection.ts';

/** A peer of a group with what is known of it. */
export interface LivePeer extends Peer {
  readonly weight: number;
  readonly maxConnections: number;
  readonly maxFails: number;
  readonly failTimeoutSeconds: number;
  readonly backup: boolean;
  readonly down: boolean;
  readonly state: PeerState;
  readonly meter: PeerMeter;
}

/** Peers among which one is chosen, in the order of the configuration. */
export interface PeerSet {
  readonly peers: readonly LivePeer[];
  /** One peer and no backups: it is tried whatever happened before. */
  readonly isSingle: boolean;
  readonly totalWeight: number;
  /** Peers that are not `down`. */
  readonly tries: number;
  /** Who comes in when none of these can be had. */
  readonly backups: PeerSet | undefined;
}

/** Splits the peers of a group as nginx does (ngx_http_upstream_init_round_robin). */
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
    backups,
  };
}

/** False: the peer takes no request now. */
export function isOpen(
  { down, maxFails, failTimeoutSeconds, maxConnections, state }: LivePeer,
  now: number,
): boolean {
  if (down) return false;
  if (maxFails > 0 && state.fails >= maxFails && now - state.checked <= failTimeoutSeconds) return false;
  return maxConnections === 0 || state.requests < maxConnections;
}
