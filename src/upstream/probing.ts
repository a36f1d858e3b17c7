import type { PeerState, Seat } from '../zone/index.ts';
import type { ProbingConfig } from './plan.ts';
import type { CheckView, Peer } from './selection.ts';

/** Whether the selection in a group heeds active checks. All peers of the group share it. */
export interface Probing extends ProbingConfig {
  /** Too few peers are healthy. */
  isIgnored: boolean;
}

/** A peer as active checks see it. */
export interface ProbedPeer extends Peer {
  readonly down: boolean;
  readonly backup: boolean;
  readonly weight: number;
  readonly slowStartMs: number;
  readonly state: PeerState;
}

/** A group as active checks see it. */
export interface ProbedGroup {
  readonly name: string;
  /** Its holder sends the probes for all threads. */
  readonly seat: Seat;
  /** Runs `act` under the lock of the group's shared memory. */
  locked<T>(act: () => T): T;
  /** Takes over changes of the group's members; the checks are told of them. */
  followMembers(): void;
  /** Installs the checks: they are told the peers now, and again before others are selected. */
  checkBy(checks: PeerChecks): void;
}

/** The active checks of a group. */
export interface PeerChecks {
  /** Called with all peers of the group. A peer is the same object as long as its address does not change. */
  follow(peers: readonly ProbedPeer[]): void;
  view(peer: ProbedPeer): readonly CheckView[];
}
