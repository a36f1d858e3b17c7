import { crc32 } from 'node:zlib';
import { isOpen } from './peer-set.ts';
import { MAX_MISSES, peerAt } from './pick.ts';
import type { Pick } from './pick.ts';
import { roundRobin } from './round-robin.ts';

/**
 * The same peer for the same key, as Cache::Memcached chooses it: `((crc32([REHASH] KEY) >> 16) & 0x7fff) + PREVIOUS`, REHASH left
 * out at first (nginx: ngx_http_upstream_get_hash_peer).
 */
export const keyHash: Pick = (progress, now) => {
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
