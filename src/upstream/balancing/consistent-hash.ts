import { crc32 } from 'node:zlib';
import type { LivePeer, PeerSet } from './peer-set.ts';
import { MAX_MISSES } from './pick.ts';
import type { Pick } from './pick.ts';
import { roundRobin, smoothest } from './round-robin.ts';

const POINTS_PER_WEIGHT = 160;

/** Points of a circle by hash, and the server that each belongs to. */
interface Ring {
  readonly hashes: Uint32Array;
  /** The peers of each server: one name may have several addresses. */
  readonly servers: readonly (readonly LivePeer[])[];
}

/** Ketama: a key belongs to the next server on a circle (nginx: ngx_http_upstream_get_chash_peer). */
export function consistentHash(set: PeerSet): Pick {
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

/** As Cache::Memcached::Fast does it: crc32(HOST \0 PORT PREVIOUS). */
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

/** The first point that is not before the hash; the end counts as the beginning. */
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
