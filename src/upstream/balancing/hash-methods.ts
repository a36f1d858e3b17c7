import { crc32 } from 'node:zlib';
import { addressBytes } from '../../config/index.ts';
import { isOpen, type LivePeer, MAX_MISSES, peerAt, type PeerSet, type Pick } from './live-peers.ts';
import { roundRobin, smoothest } from './round-robin.ts';

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
export function consistentHash(set: PeerSet): Pick {
  const ring = ringOf(set);
  return (progress, nowMs) => {
    const { key = '' } = progress.ask;
    if (progress.misses > MAX_MISSES || progress.set.isSingle || key === '' || ring.hashes.length === 0)
      return roundRobin(progress, nowMs);
    if (progress.hash < 0) progress.hash = pointAfter(ring.hashes, crc32(key));
    for (;;) {
      const peers = ring.servers[progress.hash % ring.hashes.length] as readonly LivePeer[];
      const peer = smoothest(peers, progress, nowMs);
      if (peer) return peer;
      progress.hash++;
      if (++progress.misses > MAX_MISSES) return roundRobin(progress, nowMs);
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
export const keyHash: Pick = (progress, nowMs) => {
  const { set, ask } = progress;
  const { key = '' } = ask;
  if (progress.misses > MAX_MISSES || set.isSingle || key === '' || set.totalWeight === 0)
    return roundRobin(progress, nowMs);
  for (;;) {
    const prefix = progress.rehash > 0 ? String(progress.rehash) : '';
    progress.hash = Math.max(0, progress.hash) + ((crc32(prefix + key) >>> 16) & 0x7fff);
    progress.rehash++;
    const peer = peerAt(set.peers, progress.hash % set.totalWeight);
    if (peer && !progress.tried.includes(peer) && isOpen(peer, nowMs)) return peer;
    if (++progress.misses > MAX_MISSES) return roundRobin(progress, nowMs);
  }
};

const START = 89;
const FACTOR = 113;
const MODULUS = 6271;
const IPV4_OCTETS = 3;
/** Used for clients of a Unix socket. */
const NO_ADDRESS: readonly number[] = [0, 0, 0];

/** Chooses by the client's network (nginx: ngx_http_upstream_get_ip_hash_peer). */
export const ipHash: Pick = (progress, nowMs) => {
  if (progress.misses > MAX_MISSES || progress.set.isSingle || progress.set.totalWeight === 0)
    return roundRobin(progress, nowMs);
  const bytes = significantBytes(progress.ask.clientAddress);
  let hash = progress.hash < 0 ? START : progress.hash;
  for (;;) {
    for (const byte of bytes) hash = (hash * FACTOR + byte) % MODULUS;
    const peer = peerAt(progress.set.peers, hash % progress.set.totalWeight);
    if (peer && !progress.tried.includes(peer) && isOpen(peer, nowMs)) {
      progress.hash = hash;
      return peer;
    }
    if (++progress.misses > MAX_MISSES) return roundRobin(progress, nowMs);
  }
};

function significantBytes(address: string | undefined): readonly number[] {
  const bytes = address === undefined ? undefined : addressBytes(address);
  if (!bytes) return NO_ADDRESS;
  return bytes.length === 4 ? bytes.slice(0, IPV4_OCTETS) : bytes;
}
