import { crc32 } from 'node:zlib';
import { addressBytes } from '../config/index.ts';
import type { PeerState } from '../zone/index.ts';
import type { PeerMeter } from './peer-meter.ts';
import type { Balancing } from './plan.ts';
import type { BalancingInput, Peer } from './selection.ts';

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

/** Chooses the next peer; called under the lock of the group. Switches to the backups if no other peer is available. */
export type Pick = (progress: Progress, now: number) => LivePeer | undefined;

/** After more misses, round robin decides (nginx). */
const MAX_MISSES = 20;

/** Returns the peer at a weighted position: each peer covers as many positions as its weight. */
function peerAt({ peers }: PeerSet, position: number): LivePeer | undefined {
  let rest = position;
  for (const peer of peers) {
    if (rest < peer.weight) return peer;
    rest -= peer.weight;
  }
  return undefined;
}

/** A peer of a group with its parameters and state. */
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

/** The peers among which one is chosen, in the order of the configuration. */
export interface PeerSet {
  readonly peers: readonly LivePeer[];
  /** True for one peer without backups: it is tried whatever happened before. */
  readonly isSingle: boolean;
  readonly totalWeight: number;
  /** Peers that are not `down`. */
  readonly tries: number;
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
    backups,
  };
}

/** Tells whether a peer can take a request now. */
export function isOpen(
  { down, maxFails, failTimeoutSeconds, maxConnections, state }: LivePeer,
  now: number,
): boolean {
  if (down) return false;
  if (maxFails > 0 && state.fails >= maxFails && now - state.checked <= failTimeoutSeconds) return false;
  return maxConnections === 0 || state.requests < maxConnections;
}

/** Smooth weighted round robin (nginx: ngx_http_upstream_get_peer). */
const roundRobin: Pick = (progress, now) => {
  const { set } = progress;
  const found = set.isSingle ? onlyPeer(set.peers[0]) : smoothest(set.peers, progress, now);
  return found ?? (moveToBackups(progress) ? roundRobin(progress, now) : undefined);
};

/** Returns the next of these peers by smooth weighted round robin. */
function smoothest(peers: readonly LivePeer[], { tried }: Progress, now: number): LivePeer | undefined {
  let best: LivePeer | undefined;
  let total = 0;
  for (const peer of peers) {
    if (tried.includes(peer) || !isOpen(peer, now)) continue;
    const { state, weight } = peer;
    const { effectiveWeight } = state;
    total += effectiveWeight;
    state.currentWeight += effectiveWeight;
    // The weight of a peer that failed recovers step by step.
    if (effectiveWeight < weight) state.effectiveWeight = effectiveWeight + 1;
    if (!best || state.currentWeight > best.state.currentWeight) best = peer;
  }
  if (best) best.state.currentWeight -= total;
  return best;
}

/** Switches to the backups. Returns false if there are none. */
function moveToBackups(progress: Progress): boolean {
  const { backups } = progress.set;
  if (!backups) return false;
  progress.set = backups;
  progress.tried = [];
  return true;
}

/** A single peer is used even after failures, since there is no other. */
function onlyPeer(peer: LivePeer | undefined): LivePeer | undefined {
  if (!peer || peer.down) return undefined;
  return peer.maxConnections === 0 || peer.state.requests < peer.maxConnections ? peer : undefined;
}

const POINTS_PER_WEIGHT = 160;

/** The points of a hash ring, and the server of each point. */
interface Ring {
  readonly hashes: Uint32Array;
  /** The peers of each server; a name may have several addresses. */
  readonly servers: readonly (readonly LivePeer[])[];
}

/**
 * Consistent hashing with ketama: a key belongs to the next server on the ring (nginx:
 * ngx_http_upstream_get_chash_peer).
 */
function consistentHash(set: PeerSet): Pick {
  const ring = ringOf(set);
  return (progress, now) => {
    const { key = '' } = progress.ask;
    if (progress.misses > MAX_MISSES || progress.set.isSingle || key === '' || ring.hashes.length === 0)
      return roundRobin(progress, now);
    if (progress.hash < 0) progress.hash = pointAfter(ring.hashes, crc32(key));
    for (;;) {
      const peers = ring.servers[progress.hash % ring.hashes.length] as readonly LivePeer[];
      const peer = smoothest(peers, progress, now);
      if (peer) return peer;
      progress.hash++;
      if (++progress.misses > MAX_MISSES) return roundRobin(progress, now);
    }
  };
}

/** Builds the ring as Cache::Memcached::Fast does: crc32(HOST \0 PORT PREVIOUS). */
function ringOf({ peers }: PeerSet): Ring {
  const byName = new Map<string, LivePeer[]>();
  for (const peer of peers) byName.set(peer.name, [...(byName.get(peer.name) ?? []), peer]);
  const points = peers.flatMap(({ name, weight }) =>
    pointsOf(name, weight).map((hash) => ({ hash, peers: byName.get(name) as readonly LivePeer[] })),
  );
  points.sort((a, b) => a.hash - b.hash);
  const distinct = points.filter(({ hash }, index) => hash !== points[index - 1]?.hash);
  return {
    hashes: Uint32Array.from(distinct, ({ hash }) => hash),
    servers: distinct.map((point) => point.peers),
  };
}

function pointsOf(name: string, weight: number): number[] {
  const [host, port] = hostAndPort(name);
  const base = crc32(`${host}\0${port}`);
  const previous = Buffer.alloc(4);
  return Array.from({ length: weight * POINTS_PER_WEIGHT }, () => {
    const hash = crc32(previous, base);
    previous.writeUInt32LE(hash);
    return hash;
  });
}

function hostAndPort(name: string): [host: string, port: string] {
  if (/^unix:/i.test(name)) return [name.slice('unix:'.length), ''];
  const [, host = name, port = ''] = /^(.*):(\d*)$/s.exec(name) ?? [];
  return [host, port];
}

/** Returns the index of the first point that is not below the hash; the end wraps around. */
function pointAfter(hashes: Uint32Array, hash: number): number {
  let from = 0;
  let to = hashes.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((hashes[middle] as number) < hash) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * Chooses by the hash of a key, as Cache::Memcached does: `((crc32([REHASH] KEY) >> 16) & 0x7fff) + PREVIOUS`, at first
 * without REHASH (nginx: ngx_http_upstream_get_hash_peer).
 */
const keyHash: Pick = (progress, now) => {
  const { set, ask } = progress;
  const { key = '' } = ask;
  if (progress.misses > MAX_MISSES || set.isSingle || key === '' || set.totalWeight === 0)
    return roundRobin(progress, now);
  for (;;) {
    const prefix = progress.rehash > 0 ? String(progress.rehash) : '';
    progress.hash = Math.max(0, progress.hash) + ((crc32(prefix + key) >>> 16) & 0x7fff);
    progress.rehash++;
    const peer = peerAt(set, progress.hash % set.totalWeight);
    if (peer && !progress.tried.includes(peer) && isOpen(peer, now)) return peer;
    if (++progress.misses > MAX_MISSES) return roundRobin(progress, now);
  }
};

const START = 89;
const FACTOR = 113;
const MODULUS = 6271;
const IPV4_OCTETS = 3;
/** Used for clients of a Unix socket. */
const NO_ADDRESS: readonly number[] = [0, 0, 0];

/** Chooses by the client's network (nginx: ngx_http_upstream_get_ip_hash_peer). */
const ipHash: Pick = (progress, now) => {
  if (progress.misses > MAX_MISSES || progress.set.isSingle || progress.set.totalWeight === 0)
    return roundRobin(progress, now);
  const bytes = significantBytes(progress.ask.clientAddress);
  let hash = progress.hash < 0 ? START : progress.hash;
  for (;;) {
    for (const byte of bytes) hash = (hash * FACTOR + byte) % MODULUS;
    const peer = peerAt(progress.set, hash % progress.set.totalWeight);
    if (peer && !progress.tried.includes(peer) && isOpen(peer, now)) {
      progress.hash = hash;
      return peer;
    }
    if (++progress.misses > MAX_MISSES) return roundRobin(progress, now);
  }
};

function significantBytes(address: string | undefined): readonly number[] {
  const bytes = address === undefined ? undefined : addressBytes(address);
  if (!bytes) return NO_ADDRESS;
  return bytes.length === 4 ? bytes.slice(0, IPV4_OCTETS) : bytes;
}

/**
 * Chooses the peer with the fewest requests for its weight; round robin among equals (nginx:
 * ngx_http_upstream_get_least_conn_peer).
 */
const leastConn: Pick = (progress, now) => {
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

/** Compares the load of two peers: below 0 if the first has fewer requests for its weight. */
function compareLoad(peer: LivePeer, other: LivePeer | undefined): number {
  return other ? peer.state.requests * other.weight - other.state.requests * peer.weight : -1;
}

/**
 * Chooses a random peer by weight, or the less busy of two (nginx: ngx_http_upstream_get_random_peer, …random2_peer).
 */
function random({ two }: { readonly two: boolean }): Pick {
  return (progress, now) => {
    if (progress.set.isSingle || progress.set.totalWeight === 0) return roundRobin(progress, now);
    const first = draw(progress, now);
    const second = first && two ? draw(progress, now, first) : undefined;
    // As in nginx, round robin decides if there is no second one.
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

/** Compiles the balancing method for a set of peers. */
export function compilePick(balancing: Balancing, set: PeerSet): Pick {
  switch (balancing.kind) {
    case 'round robin':
      return roundRobin;
    case 'least_conn':
      return leastConn;
    case 'ip_hash':
      return ipHash;
    case 'hash':
      return balancing.consistent ? consistentHash(set) : keyHash;
    case 'random':
      return random(balancing);
  }
}
