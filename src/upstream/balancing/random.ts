import { compareLoad } from './least-conn.ts';
import { isOpen } from './peer-set.ts';
import type { LivePeer } from './peer-set.ts';
import { MAX_MISSES, peerAt } from './pick.ts';
import type { Pick, Progress } from './pick.ts';
import { roundRobin } from './round-robin.ts';

/** A random peer by weight, or the less busy of two (nginx: ngx_http_upstream_get_random_peer, …random2_peer). */
export function random({ two }: { readonly two: boolean }): Pick {
  return (progress, now) => {
    if (progress.set.isSingle || progress.set.totalWeight === 0) return roundRobin(progress, now);
    const first = draw(progress, now);
    const second = first && two ? draw(progress, now, first) : undefined;
    // nginx: without a second one, round robin decides.
    if (!first || (two && !second)) return roundRobin(progress, now);
    return second && compareLoad(second, first) <= 0 ? second : first;
  };
}

function draw(progress: Progress, now: number, other?: LivePeer): LivePeer | undefined {
  const { set, tried } = progress;
  while (progress.misses <= MAX_MISSES) {
    const peer = peerAt(set, Math.floor(Math.random() * set.totalWeight));
    if (peer && peer !== other && !tried.includes(peer) && isOpen(peer, now)) return peer;
    progress.misses++;
  }
  return undefined;
}
