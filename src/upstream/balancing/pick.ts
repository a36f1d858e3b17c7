import type { Ask } from '../selection.ts';
import type { LivePeer, PeerSet } from './peer-set.ts';

/** How far one request has come with the peers of a group. */
export interface Progress {
  readonly ask: Ask;
  set: PeerSet;
  /** Of the set: what this request has had. */
  tried: LivePeer[];
  /** What the hash methods go on from. */
  hash: number;
  rehash: number;
  /** Choices of a hash or random method that led to a peer which cannot be had. */
  misses: number;
}

/** Chooses the next peer, under the lock of the group. Moves on to the backups when no other peer can be had. */
export type Pick = (progress: Progress, now: number) => LivePeer | undefined;

/** After so many misses round robin decides (nginx). */
export const MAX_MISSES = 20;

/** The peer at a weighted position: position 0 to the weight of the first is the first, and so on. */
export function peerAt({ peers }: PeerSet, position: number): LivePeer | undefined {
  let rest = position;
  for (const peer of peers) {
    if (rest < peer.weight) return peer;
    rest -= peer.weight;
  }
  return undefined;
}
