import type { Balancing } from '../plan.ts';
import { consistentHash } from './consistent-hash.ts';
import { keyHash } from './hash.ts';
import { ipHash } from './ip-hash.ts';
import { leastConn } from './least-conn.ts';
import type { PeerSet } from './peer-set.ts';
import type { Pick } from './pick.ts';
import { random } from './random.ts';
import { roundRobin } from './round-robin.ts';

export { isOpen, peerSetOf } from './peer-set.ts';
export type { LivePeer, PeerSet } from './peer-set.ts';
export type { Pick, Progress } from './pick.ts';

/** The balancing method for these peers. */
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
