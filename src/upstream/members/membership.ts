import type { Seat, SharedText } from '../../zone/index.ts';
import {
  CONFIGURED,
  type Member,
  MEMBER_CODES,
  MemberFault,
  type MemberPatch,
  type MemberSet,
  type MemberSharing,
  normalMember,
  patchMembers,
  refuseForeign,
  refuseMany,
  unknownPeer,
} from './member.ts';
import type { SharedSet } from './shared-set.ts';

/** The facts that a change is checked against. */
interface MemberScope {
  /** The servers of the configuration at their present addresses. */
  configured(): readonly Member[];
  /** Tells whether active checks have found a peer unhealthy. A peer that is not known counts as healthy. */
  isUnhealthy(address: string): boolean;
}

/** The conditions for replacing a set. */
interface PutOptions {
  /** The generation that the set must have. */
  readonly expected?: number | undefined;
  /** True if the set may be empty; otherwise an empty set is refused. */
  readonly isEmptyFine?: boolean;
}

/** The result of a change. */
export interface MemberChange {
  readonly changed: boolean;
  readonly set: MemberSet;
  readonly added?: number;
  readonly removed?: number;
}

/**
 * Returns the new state of sharing after an event; `undefined` if it has not changed. `isEqual` is true if the set to take
 * over from another gateway is the present one.
 */
export type NextSharing = (
  sharing: MemberSharing,
  set: MemberSet,
  isEqual: boolean,
) => MemberSharing | undefined;

const UNSHARED: MemberSharing = { state: 'others', sequence: 0, seen: 0 };

/** The result of taking over the set of another gateway. */
interface FollowedChange extends MemberChange {
  readonly former: MemberSet;
}

/** An origin of changes to the members: a source, or the API. It keeps the changes for the next start. */
export interface MemberChanges {
  /** The source of the peers; `static` for the API. */
  readonly source: string;
  /** Changes lists of peers, or drains one. Throws a `MemberFault`. */
  patch(patch: MemberPatch): MemberChange;
  /** Resolves when the present set has been written, or writing has failed. */
  written(): Promise<void>;
}

/** The members of one group as one worker sees them. All workers have the same ones. */
export class Membership {
  /** Number of peers that there is room for. */
  readonly room: number;
  readonly text: SharedText;
  readonly #changes: MemberChanges[] = [];
  readonly #scope: MemberScope;
  /** Present if changes are shared with other gateways, through one cluster. */
  #shared: { readonly cluster: string; readonly told: () => void } | undefined;
  #known: { readonly revision: number; readonly set: MemberSet } = { revision: 0, set: CONFIGURED };

  constructor(text: SharedText, room: number, scope: MemberScope) {
    this.text = text;
    this.room = room;
    this.#scope = scope;
  }

  /** Adds an origin of changes. */
  changedBy(changes: MemberChanges): void {
    this.#changes.push(changes);
  }

  /** The origins of changes, the one with a source first. Empty if the members cannot change. */
  get changes(): readonly MemberChanges[] {
    return this.#changes.toSorted((a, b) => Number(a.source === 'static') - Number(b.source === 'static'));
  }

  /** A number that changes with the set, and with other facts about it. */
  get revision(): number {
    return this.text.revision;
  }

  /** The seat of the worker that writes the journal. */
  get journalSeat(): Seat {
    return this.text.seat(0);
  }

  /** The seat of the worker that asks the source. */
  get sourceSeat(): Seat {
    return this.text.seat(1);
  }

  get set(): MemberSet {
    if (this.text.revision === this.#known.revision) return this.#known.set;
    const read = this.text.read();
    // If the zone is locked for too long, this worker uses the set that it knows; the next request looks again.
    if (read) this.#known = { revision: read.revision, set: parse(read.text) };
    return this.#known.set;
  }

  /** Replaces the set. Throws a `MemberFault`; then the former set stays. */
  put(peers: readonly Member[], { expected, isEmptyFine = false }: PutOptions = {}): MemberChange {
    return this.#change((now) => {
      refuseOther(now, expected);
      if (peers.length > 0 || !isEmptyFine) return { set: this.#replaced(now, peers) };
      return { set: now.peers?.length === 0 ? now : { ...now, generation: now.generation + 1, peers } };
    });
  }

  /** Changes lists of peers, or drains one. Throws a `MemberFault`; then the former set stays. */
  patch(patch: MemberPatch, expected?: number): MemberChange {
    return this.#change((now) => {
      refuseOther(now, expected);
      if (patch.kind !== 'lists') return { set: this.#drained(now, patch.address, patch.kind === 'drain') };
      const { peers, ...counts } = patchMembers(this.#peersOf(now), patch);
      // The servers of the configuration also stay if nothing about them changes.
      if (isSame(this.#peersOf(now).map(normalMember), peers.map(normalMember)))
        return { set: now, ...counts };
      return { set: this.#replaced(now, peers), ...counts };
    });
  }

  /** Takes over the set of a journal, unless there has been a change before. */
  restore(
    restored: Pick<MemberSet, 'generation' | 'draining'> & { readonly peers: readonly Member[] },
  ): boolean {
    if (this.text.revision > 0) return false;
    const next = (now: MemberSet): Omit<MemberChange, 'changed'> => {
      if (now !== CONFIGURED) return { set: now };
      return { set: { ...CONFIGURED, ...restored, restored_from_journal: true } };
    };
    // Other gateways may have changed the set since then; their sets take precedence.
    return this.#change(next, { isShared: false }).changed;
  }

  /** Records a success or a failure of a source or of a change. */
  note(
    facts: Partial<
      Pick<
        MemberSet,
        'last_success_at_msec' | 'last_error_at_msec' | 'last_error_code' | 'restore_error_code'
      >
    >,
  ): void {
    this.text.change((text) => JSON.stringify({ ...parse(text), ...facts }));
  }

  /**
   * Makes later changes wait until the other gateways of a cluster know them; `told` is called for each. Returns false if
   * another cluster shares them already.
   */
  share(cluster: string, told: () => void): boolean {
    if (this.#shared && this.#shared.cluster !== cluster) return false;
    this.#shared = { cluster, told };
    return true;
  }

  /** Records how far other gateways know the set. Returns false if the zone is busy. */
  noteSharing(next: NextSharing): boolean {
    const outcome = this.text.change((text) => {
      const now = parse(text);
      const sharing = next(sharingOf(now), now, false);
      return sharing && JSON.stringify({ ...now, sharing });
    });
    return outcome !== 'busy';
  }

  /**
   * Takes over the set of another gateway, unless `next` returns `undefined`. Ignores health, because all gateways must get
   * the same set. Returns `undefined` if the zone is busy. Throws a `MemberFault`; then the former set stays.
   */
  follow(
    { peers: given, draining }: Pick<SharedSet, 'peers' | 'draining'>,
    next: NextSharing,
  ): FollowedChange | undefined {
    const peers = given?.map(normalMember);
    if (peers) this.#refuseForeign(peers);
    let change: FollowedChange = { changed: false, former: this.set, set: this.set };
    const outcome = this.text.change((text) => {
      const former = parse(text);
      change = followed(former, { peers, draining });
      const known = sharingOf(former);
      const sharing = next(known, former, !change.changed);
      if (!sharing) change = { changed: false, former, set: former };
      if (!sharing || (!change.changed && isSame(sharing, known))) return undefined;
      change = { ...change, set: { ...change.set, sharing } };
      return JSON.stringify(change.set);
    });
    if (outcome === 'too long') throw noRoom();
    return outcome === 'busy' ? undefined : change;
  }

  /** The peers of a set, those of the configuration included. */
  peers(set: MemberSet = this.set): readonly Member[] {
    return this.#peersOf(set);
  }

  /** Tells whether a peer of a set may get new requests. */
  canServe(set: MemberSet): boolean {
    const { draining } = set;
    return this.#peersOf(set).some(
      ({ address, down }) => !down && !draining.includes(address) && !this.#scope.isUnhealthy(address),
    );
  }

  #peersOf({ peers }: MemberSet): readonly Member[] {
    return peers ?? this.#scope.configured();
  }

  #replaced(now: MemberSet, given: readonly Member[]): MemberSet {
    const peers = given.map(normalMember);
    if (peers.length === 0) throw new MemberFault(400, MEMBER_CODES.shape, 'no peer would remain');
    refuseMany(peers, this.room);
    if (now.peers !== undefined && isSame(now.peers, peers)) return now;
    return { ...now, generation: now.generation + 1, peers };
  }

  #drained(now: MemberSet, address: string, drains: boolean): MemberSet {
    const { draining } = now;
    const isDraining = draining.includes(address);
    if (!isDraining && !this.#peersOf(now).some((peer) => peer.address === address))
      throw unknownPeer(address);
    if (isDraining === drains) return now;
    if (!drains) return { ...now, draining: draining.filter((other) => other !== address) };
    // Addresses that have left the set are forgotten, the oldest first, before there are too many.
    return { ...now, draining: [...draining, address].slice(-this.room) };
  }

  #change(
    next: (now: MemberSet) => Omit<MemberChange, 'changed'>,
    { isShared = this.#shared !== undefined } = {},
  ): MemberChange {
    let change: MemberChange = { changed: false, set: this.set };
    const outcome = this.text.change((text) => {
      const now = parse(text);
      const { set, ...counts } = next(now);
      if (set === now) {
        change = { changed: false, set, ...counts };
        return now.last_error_code === 0 ? undefined : JSON.stringify({ ...now, last_error_code: 0 });
      }
      // Draining the only peer is allowed: bound requests are still served.
      if (set.draining === now.draining) this.#refuseEmpty(set);
      const sharing = isShared && { sharing: { ...sharingOf(now), state: 'waits' as const } };
      const success = { last_error_code: 0, last_success_at_msec: Date.now() };
      change = { changed: true, set: { ...set, ...sharing, ...success }, ...counts };
      return JSON.stringify(change.set);
    });
    if (outcome === 'busy') throw new MemberFault(503, MEMBER_CODES.room, 'the zone is busy');
    if (outcome === 'too long') throw noRoom();
    if (change.changed && isShared) this.#shared?.told();
    return change;
  }

  #refuseForeign(peers: readonly Member[]): void {
    const configured = this.#scope.configured().map(({ address }) => address);
    refuseForeign(peers, { room: this.room, configured });
  }

  #refuseEmpty(set: MemberSet): void {
    if (set.peers?.length !== 0 && !this.canServe(set))
      throw new MemberFault(503, MEMBER_CODES.unhealthy, 'no peer that can serve would remain');
  }
}

function refuseOther({ generation }: MemberSet, expected: number | undefined): void {
  if (expected === undefined || expected === generation) return;
  throw new MemberFault(412, MEMBER_CODES.shape, `the generation is ${generation}, not ${expected}`);
}

/** Returns the set of another gateway as the next one of this gateway. */
function followed(
  former: MemberSet,
  { peers, draining }: Pick<SharedSet, 'peers' | 'draining'>,
): FollowedChange {
  const { peers: present, ...rest } = former;
  const isNew = !isSame(present, peers);
  if (!isNew && isSame(draining, former.draining)) return { changed: false, former, set: former };
  const generation = former.generation + (isNew ? 1 : 0);
  const set = { ...rest, ...(peers && { peers }), draining, generation, last_success_at_msec: Date.now() };
  return { changed: true, former, set };
}

/** Compares texts: all members have the same fields in the same order. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function sharingOf({ sharing = UNSHARED }: MemberSet): MemberSharing {
  return sharing;
}

function noRoom(): MemberFault {
  return new MemberFault(503, MEMBER_CODES.room, 'the zone has no room for the set');
}

function parse(text: string): MemberSet {
  return text === '' ? CONFIGURED : (JSON.parse(text) as MemberSet);
}
