import { consistentHash, ipHash, keyHash } from './hash-methods.ts';
import {
  isOpen,
  type LivePeer,
  MAX_MISSES,
  peerAt,
  type PeerSet,
  type Pick,
  type Progress,
  rampOf,
} from './live-peers.ts';
import type { Balancing, MeasuredTime } from '../plan.ts';
import { moveToBackups, roundRobin, smoothest } from './round-robin.ts';

/** Compares the load of two peers: below 0 if the first has less. */
type Comparison = (peer: LivePeer, other: LivePeer, nowMs: number) => number;

/** Compares the number of requests for the weight of two peers. */
const compareRequests: Comparison = (peer, other, nowMs) =>
  peer.state.requests * other.weight * rampOf(other, nowMs) -
  other.state.requests * peer.weight * rampOf(peer, nowMs);

/** As in nginx, times count in steps of 20 ms, at most 5 s; a peer that was never measured counts as a fast one. */
const TIME_STEP_MS = 20;
const MAX_TIME_MS = 5000;

/** Compares the time that a request would take: the mean time, times the requests with this one, for the weight. */
function compareTimes({ by, inflight }: { by: MeasuredTime; inflight: boolean }): Comparison {
  const timeOf = (peer: LivePeer, nowMs: number): number => {
    const { state } = peer;
    const mean = (by === 'header' ? state.headMean : state.lastByteMean) / idleDivisor(peer, nowMs);
    const ms = inflight ? Math.max(mean, state.meanAge(nowMs)) : mean;
    return Math.min(MAX_TIME_MS, TIME_STEP_MS * (1 + Math.floor(ms / TIME_STEP_MS)));
  };
  const costOf = (peer: LivePeer, nowMs: number): number =>
    (timeOf(peer, nowMs) * (1 + peer.state.requests)) / (peer.weight * Math.max(rampOf(peer, nowMs), 1e-6));
  return (peer, other, nowMs) => costOf(peer, nowMs) - costOf(other, nowMs);
}

/**
 * The divisor of a peer's mean time. It doubles with each `fail_timeout` in which the peer was not selected, so that a slow peer is
 * tried again. It is tried with one request: that ends its idle time, and the mean is as it was
 * (nginx: ngx_http_upstream_least_time_eta).
 */
function idleDivisor({ state, failTimeoutSeconds }: LivePeer, nowMs: number): number {
  const idle = Math.floor(nowMs / 1000) - state.checked;
  return idle > failTimeoutSeconds ? 2 ** Math.floor(idle / (failTimeoutSeconds + 1)) : 1;
}

/** Chooses the peer with the least load; round robin among equals (nginx: ngx_http_upstream_get_least_conn_peer). */
function leastLoad(compare: Comparison): Pick {
  const pick: Pick = (progress, nowMs) => {
    const { set, tried } = progress;
    if (set.isSingle) return roundRobin(progress, nowMs);
    let best: LivePeer[] = [];
    for (const peer of set.peers) {
      if (tried.includes(peer) || !isOpen(peer, nowMs)) continue;
      const [least] = best;
      const difference = least ? compare(peer, least, nowMs) : -1;
      if (difference < 0) best = [peer];
      else if (difference === 0) best.push(peer);
    }
    if (best.length === 0) return moveToBackups(progress) ? pick(progress, nowMs) : undefined;
    return best.length > 1 ? smoothest(best, progress, nowMs) : best[0];
  };
  return pick;
}

/**
 * Chooses a random peer by weight, or the one with less load of two (nginx: ngx_http_upstream_get_random_peer,
 * …random2_peer).
 */
function random(compare: Comparison | undefined): Pick {
  return (progress, nowMs) => {
    if (progress.set.isSingle || progress.set.totalWeight === 0) return roundRobin(progress, nowMs);
    const first = draw(progress, nowMs);
    const second = first && compare ? draw(progress, nowMs, first) : undefined;
    // As in nginx, round robin decides if there is no second one.
    if (!first || (compare && !second)) return roundRobin(progress, nowMs);
    return compare && second && compare(second, first, nowMs) <= 0 ? second : first;
  };
}

function draw(progress: Progress, nowMs: number, other?: LivePeer): LivePeer | undefined {
  const { set, tried } = progress;
  while (progress.misses <= MAX_MISSES) {
    const peer = peerAt(set.peers, Math.floor(Math.random() * set.totalWeight));
    if (peer && peer !== other && !tried.includes(peer) && isOpen(peer, nowMs)) return peer;
    progress.misses++;
  }
  return undefined;
}

/** Returns how `random two` compares its peers; `undefined` for plain `random`. */
function comparisonOf(two: Extract<Balancing, { kind: 'random' }>['two']): Comparison | undefined {
  if (two === undefined) return undefined;
  return two === 'least_conn' ? compareRequests : compareTimes({ by: two, inflight: false });
}

/** Compiles the balancing method for a set of peers. */
export function compilePick(balancing: Balancing, set: PeerSet): Pick {
  switch (balancing.kind) {
    case 'round robin':
      return roundRobin;
    case 'least_conn':
      return leastLoad(compareRequests);
    case 'least_time':
      return leastLoad(compareTimes(balancing));
    case 'ip_hash':
      return ipHash;
    case 'hash':
      return balancing.consistent ? consistentHash(set) : keyHash;
    case 'random':
      return random(comparisonOf(balancing.two));
  }
}
