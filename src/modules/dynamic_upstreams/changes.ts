import type { WorkerScope } from '../../contract/index.ts';
import {
  type Member,
  MEMBER_CODES,
  type MemberChange,
  type MemberChanges,
  MemberFault,
  type MemberPatch,
  type Membership,
  type MemberSet,
  type NextSharing,
  type SharedSet,
} from '../../upstream/index.ts';
import type { Publish } from './events.ts';
import type { Journal } from './journal.ts';

/** The journal, the log and the ring that changes are written to. */
interface ChangesScope extends Pick<WorkerScope, 'log'> {
  readonly journal: Journal | undefined;
  readonly publish: Publish;
}

/** Changes the members of a group, and publishes and records the changes. */
export class GroupChanges implements MemberChanges {
  readonly source: string;
  readonly #target: string;
  readonly #membership: Membership;
  readonly #journal: Journal | undefined;
  readonly #publish: Publish;
  readonly #log: ChangesScope['log'];

  constructor(
    { target, source, membership }: { target: string; source: string; membership: Membership },
    { journal, publish, log }: ChangesScope,
  ) {
    this.#target = target;
    this.source = source;
    this.#membership = membership;
    this.#journal = journal;
    this.#publish = publish;
    this.#log = log;
  }

  /** Throws a `MemberFault` if the peers come from a source, which would undo changes by the API. */
  requireApi(): void {
    if (this.source !== 'static')
      throw new MemberFault(405, MEMBER_CODES.shape, `the peers come from the source "${this.source}"`);
  }

  /** Replaces the set. `expected`: the generation that the old set must have. Throws a `MemberFault`. */
  put(peers: readonly Member[], expected?: number): MemberChange {
    return this.#activated(this.#membership.put(peers, { expected }));
  }

  /** Replaces the set by the peers of a source, even if there are none. Throws a `MemberFault`. */
  refresh(peers: readonly Member[]): MemberChange {
    return this.#activated(this.#membership.put(peers, { isEmptyFine: true }));
  }

  /** Changes lists of peers, or drains one. Throws a `MemberFault`. */
  patch(patch: MemberPatch, expected?: number): MemberChange {
    const change = this.#membership.patch(patch, expected);
    if (patch.kind === 'lists') return this.#activated(change);
    if (!change.changed) return change;
    this.#tellDrain(patch.kind, patch.address, change.set);
    if (!this.#membership.canServe(change.set))
      this.#log.write('warn', `no peer of upstream "${this.#target}" takes new requests`);
    return change;
  }

  /**
   * Activates the set of another gateway of the cluster, and writes the journal in the background. Returns false if it
   * cannot be activated now. Throws a `MemberFault`.
   */
  follow(theirs: SharedSet, next: NextSharing): boolean {
    const followed = this.#membership.follow(theirs, next);
    if (!followed) return false;
    const { changed, former, set } = followed;
    if (!changed) return true;
    if (set.generation !== former.generation) this.#tell('snapshot_activated', set, 'cluster');
    for (const address of set.draining)
      if (!former.draining.includes(address)) this.#tellDrain('drain', address, set);
    for (const address of former.draining)
      if (!set.draining.includes(address)) this.#tellDrain('undrain', address, set);
    void this.written();
    return true;
  }

  /** Number of peers of a set, those of the configuration included. */
  peerCount(set: MemberSet): number {
    return this.#membership.peers(set).length;
  }

  /** Number of peers of a set that drain. */
  drainCount(set: MemberSet): number {
    const { draining } = set;
    return this.#membership.peers(set).filter(({ address }) => draining.includes(address)).length;
  }

  /** Records that a change was refused. */
  failed(code: number): void {
    this.#membership.note({ last_error_code: code, last_error_at_msec: Date.now() });
  }

  /** Resolves when the journal contains the current set, or writing it has failed. */
  written(): Promise<void> {
    return this.#journal?.save() ?? Promise.resolve();
  }

  /** Activates the set of the journal, before the first request. */
  async restore(): Promise<void> {
    if (await this.#journal?.restore()) this.#tell('snapshot_restored', this.#membership.set);
  }

  /** Records and publishes that the source could not be read. */
  refreshFailed(code: number): void {
    this.failed(code);
    this.#publish({
      type: 'refresh_failed',
      payload: { target: this.#target, source: this.source, error_code: code },
    });
  }

  /** Records that the source gave the same peers as before. */
  refreshed(): void {
    this.#membership.note({ last_error_code: 0, last_success_at_msec: Date.now() });
  }

  #activated(change: MemberChange): MemberChange {
    if (change.changed) this.#tell('snapshot_activated', change.set);
    return change;
  }

  #tellDrain(kind: 'drain' | 'undrain', address: string, set: MemberSet): void {
    const { generation } = set;
    const payload = { target: this.#target, address, drain_count: this.drainCount(set), generation };
    this.#publish({ type: kind === 'drain' ? 'peer_draining' : 'peer_undrained', payload });
  }

  #tell(type: 'snapshot_activated' | 'snapshot_restored', set: MemberSet, source = this.source): void {
    this.#publish({
      type,
      payload: {
        target: this.#target,
        source,
        generation: set.generation,
        peer_count: this.peerCount(set),
      },
    });
  }
}
