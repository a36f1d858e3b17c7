import { isOpen } from './peer-set.ts';
import type { LivePeer } from './peer-set.ts';
import type { Pick, Progress } from './pick.ts';

/** Smooth weighted round robin (nginx: ngx_http_upstream_get_peer). */
export const roundRobin: Pick = (progress, now) => {
  const { set } = progress;
  const found = set.isSingle ? onlyPeer(set.peers[0]) : smoothest(set.peers, progress, now);
  return found ?? (moveToBackups(progress) ? roundRobin(progress, now) : undefined);
};

/** The next of these peers by their weights: it pays for all of them with its own. */
export function smoothest(
  peers: readonly LivePeer[],
  { tried }: Progress,
  now: number,
): LivePeer | undefined {
  let best: LivePeer | undefined;
  let total = 0;
  for (const peer of peers) {
    if (tried.includes(peer) || !isOpen(peer, now)) continue;
    const { state, weight } = peer;
    const { effectiveWeight } = state;
    total += effectiveWeight;
    state.currentWeight += effectiveWeight;
    // A peer that failed comes back step by step.
    if (effectiveWeight < weight) state.effectiveWeight = effectiveWeight + 1;
    if (!best || state.currentWeight > best.state.currentWeight) best = peer;
  }
  if (best) best.state.currentWeight -= total;
  return best;
}

/** False: there are no backups left. */
export function moveToBackups(progress: Progress): boolean {
  const { backups } = progress.set;
  if (!backups) return false;
  progress.set = backups;
  progress.tried = [];
  return true;
}

/** A single peer that failed is tried again: there is nobody else. */
function onlyPeer(peer: LivePeer | undefined): LivePeer | undefined {
  if (!peer || peer.down) return undefined;
  return peer.maxConnections === 0 || peer.state.requests < peer.maxConnections ? peer : undefined;
}
