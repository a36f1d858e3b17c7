import { addressBytes } from '../../config/index.ts';
import { isOpen } from './peer-set.ts';
import { MAX_MISSES, peerAt } from './pick.ts';
import type { Pick } from './pick.ts';
import { roundRobin } from './round-robin.ts';

const START = 89;
const FACTOR = 113;
const MODULUS = 6271;
const IPV4_OCTETS = 3;
/** Clients of a Unix socket are one client. */
const NO_ADDRESS: readonly number[] = [0, 0, 0];

/** The same peer for the same network of clients (nginx: ngx_http_upstream_get_ip_hash_peer). */
export const ipHash: Pick = (progress, now) => {
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
