import {
  canServe,
  isExcluded,
  isOpen,
  type LivePeer,
  peerAt,
  type PeerSet,
  type Pick,
  type Progress,
  rampOf,
  rejectionOf,
} from './live-peers.ts';
import type { PeerBinding } from '../interfaces.ts';

/** Weights of a set with slow starts are counted in thousandths. */
const RAMP_UNIT = 1000;

/** Returns what a peer gains in a round of smooth weighted round robin. */
function gainOf(peer: LivePeer, { isRamped }: PeerSet, nowMs: number): number {
  const { effectiveWeight } = peer.state;
  if (!isRamped) return effectiveWeight;
  return Math.max(1, Math.round(effectiveWeight * RAMP_UNIT * rampOf(peer, nowMs)));
}

/** Smooth weighted round robin (nginx: ngx_http_upstream_get_peer). */
export const roundRobin: Pick = (progress, nowMs) => {
  const { set } = progress;
  const found = set.isSingle ? onlyPeer(set.peers[0]) : smoothest(set.peers, progress, nowMs);
  return found ?? (moveToBackups(progress) ? roundRobin(progress, nowMs) : undefined);
};

/** Returns the next of these peers by smooth weighted round robin. */
export function smoothest(
  peers: readonly LivePeer[],
  { set, tried }: Progress,
  nowMs: number,
): LivePeer | undefined {
  let best: LivePeer | undefined;
  let total = 0;
  for (const peer of peers) {
    if (tried.includes(peer) || !isOpen(peer, nowMs)) continue;
    const gain = gainOf(peer, set, nowMs);
    total += gain;
    advance(peer, gain);
    if (!best || peer.state.currentWeight > best.state.currentWeight) best = peer;
  }
  if (best) best.state.currentWeight -= total;
  return best;
}

/** Counts a round for a peer. The weight of a peer that failed recovers step by step. */
function advance({ state, weight }: LivePeer, gain: number): void {
  state.currentWeight += gain;
  if (state.effectiveWeight < weight) state.effectiveWeight++;
}

/**
 * Returns the peer that a request is bound to, if that can serve it. As in nginx this uses up a turn of the peer, but only
 * if it has one: its debt never exceeds what the others gain in one round.
 */
export function boundPeer(progress: Progress, binding: PeerBinding, nowMs: number): LivePeer | undefined {
  const { set, tried } = progress;
  const peer =
    binding.hash === undefined ? namedPeer(progress, binding, nowMs) : hashedPeer(progress, binding, nowMs);
  if (!peer || set.isSingle || peer.state.currentWeight < 0) return peer;
  let total = 0;
  for (const other of set.peers) {
    if (other !== peer && (tried.includes(other) || !isOpen(other, nowMs))) continue;
    const gain = gainOf(other, set, nowMs);
    total += gain;
    advance(other, gain);
  }
  peer.state.currentWeight -= total;
  return peer;
}

/** Several servers may have the same route: the first one that can serve the request is chosen. */
function namedPeer(progress: Progress, binding: PeerBinding, nowMs: number): LivePeer | undefined {
  const { id, address } = binding;
  if (id === '' && address === undefined) return undefined;
  const isNamed = (peer: LivePeer): boolean =>
    address === undefined ? peer.id === id : peer.address === address;
  return progress.set.peers.find((peer) => isNamed(peer) && isFree(peer, { progress, binding, nowMs }));
}

function hashedPeer(progress: Progress, binding: PeerBinding, nowMs: number): LivePeer | undefined {
  const { hash = 0 } = binding;
  const open = progress.set.peers.filter((peer) => isFree(peer, { progress, binding, nowMs }));
  const total = open.reduce((sum, { weight }) => sum + weight, 0);
  return total === 0 ? undefined : peerAt(open, hash % total);
}

/** Tells whether a peer can take a request that names it or whose hash falls on it; the reason why not is passed on. */
function isFree(
  peer: LivePeer,
  { progress, binding, nowMs }: { progress: Progress; binding: PeerBinding; nowMs: number },
): boolean {
  const isTried = progress.tried.includes(peer);
  const isNamed = binding.hash === undefined;
  if (!isTried && (isNamed ? canServe(peer, nowMs) : isOpen(peer, nowMs))) return true;
  binding.rejected?.(isTried ? 'tried' : rejectionOf(peer, nowMs, isNamed));
  return false;
}

/** Switches to the backups. Returns false if there are none. */
export function moveToBackups(progress: Progress): boolean {
  const { backups } = progress.set;
  if (!backups) return false;
  progress.set = backups;
  progress.tried = [];
  return true;
}

/** A single peer is used even after failures, since there is no other. */
function onlyPeer(peer: LivePeer | undefined): LivePeer | undefined {
  if (!peer || peer.down || peer.drain || isExcluded(peer)) return undefined;
  return peer.maxConnections === 0 || peer.state.requests < peer.maxConnections ? peer : undefined;
}
