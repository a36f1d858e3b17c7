import { isOpen } from './peer-set.ts';
import type { LivePeer } from './peer-set.ts';
import type { Pick } from './pick.ts';
import { moveToBackups, roundRobin, smoothest } from './round-robin.ts';

/** The peer with the fewest requests by weight; among equals round robin (nginx: ngx_http_upstream_get_least_conn_peer). */
export const leastConn: Pick = (progress, now) => {
  const { set, tried } = progress;
  if (set.isSingle) return roundRobin(progress, now);
  const open = set.peers.filter((peer) => !tried.includes(peer) && isOpen(peer, now));
  const [first, ...others] = leastBusy(open);
  if (!first) return moveToBackups(progress) ? leastConn(progress, now) : undefined;
  return others.length > 0 ? smoothest([first, ...others], progress, now) : first;
};

function leastBusy(open: readonly LivePeer[]): readonly LivePeer[] {
  let best: LivePeer[] = [];
  for (const peer of open) {
    const difference = compareLoad(peer, best[0]);
    if (difference < 0) best = [peer];
    else if (difference === 0) best.push(peer);
  }
  return best;
}

/** Below 0: the first has fewer requests for its weight. */
export function compareLoad(peer: LivePeer, other: LivePeer | undefined): number {
  return other ? peer.state.requests * other.weight - other.state.requests * peer.weight : -1;
}
