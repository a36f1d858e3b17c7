import type { ErrorLog } from '../../log/index.ts';
import {
  MemberFault,
  type MemberSharing,
  type Membership,
  type NextSharing,
  readSharedSet,
  type SharedSet,
  sharedSetText,
} from '../../upstream/index.ts';
import { monotonicMs } from '../../zone/index.ts';
import type { KeyChange, KeyedSubject, KeyState } from '../node/index.ts';
import { type KeyWrite, MAX_KEYED_BYTES } from '../stores/index.ts';

/** An upstream of a worker whose members are shared. */
export interface SharedUpstream {
  readonly name: string;
  /** Identifies the servers of the configuration. A set made with other servers is refused: edited servers count. */
  readonly configured: string;
  readonly membership: Membership;
  /** Takes over a set as `Membership.follow` does, and announces it. Returns false if the zone is busy. */
  follow(theirs: SharedSet, next: NextSharing): boolean;
}

interface UpstreamsSubjectParts {
  /** Identifies this start of the process. */
  readonly incarnation: string;
  readonly nodeId: string;
  readonly log: ErrorLog;
  /** Returns the shared upstreams by name, each of the latest configuration that has it. */
  readonly shared: () => ReadonlyMap<string, SharedUpstream>;
}

/** States of one key that were read together: the last one, and whether they supersede a change with this `seen`. */
interface KeyNews {
  readonly last: KeyState;
  readonly supersedes: (seen: number) => boolean;
}

/** Maximum different warnings about refused sets. */
const MOST_WARNED = 100;
/** Maximum characters of a name that comes from the store. */
const LONGEST_NAME = 64;

/** The members of upstreams, which all nodes activate. Waiting changes are in shared memory, for any worker to send. */
export class UpstreamsSubject implements KeyedSubject {
  readonly stream = 'up';
  readonly digest = 'up:1';
  readonly incarnation: string;
  birth = 0;
  readonly #parts: UpstreamsSubjectParts;
  readonly #warned = new Set<string>();
  /** Counters of applied states by key: after all keys were read, the stream may give earlier entries again. */
  readonly #applied = new Map<string, number>();
  /** Keys whose changes were superseded, and that `apply` has not returned yet. */
  readonly #givenUp = new Set<string>();
  #sequence = 0;
  /** The counter up to which this node has the stream. */
  #position = 0;
  #listener: () => void = () => undefined;

  constructor(parts: UpstreamsSubjectParts) {
    this.#parts = parts;
    this.incarnation = parts.incarnation;
  }

  watch(listener: () => void): () => void {
    this.#listener = listener;
    return () => (this.#listener = () => undefined);
  }

  /** Called when a worker has changed members. */
  changed(): void {
    this.#listener();
  }

  changes(most: number): readonly KeyChange[] {
    const all = [...this.#parts.shared().values()];
    const sent = all.filter(({ membership }) => membership.set.sharing?.state === 'sent');
    const waiting = all.filter(({ membership }) => membership.set.sharing?.state === 'waits');
    const changes = [...sent, ...waiting]
      .slice(0, most)
      .flatMap((upstream) => this.#changeOf(upstream) ?? []);
    return changes.sort((a, b) => a.sequence - b.sequence);
  }

  acknowledged({ key, sequence }: KeyChange): void {
    this.#note(key, (sharing) => (isSent(sharing, sequence) ? { ...sharing, state: 'known' } : undefined));
  }

  superseded({ key, sequence }: KeyChange): boolean {
    let isPresent = false;
    this.#note(key, (sharing) => {
      isPresent = isSent(sharing, sequence);
      return isPresent ? { ...sharing, state: 'others' } : undefined;
    });
    return isPresent;
  }

  renew({ key, value = '' }: KeyChange): void {
    const upstream = this.#parts.shared().get(key);
    upstream?.follow(readSharedSet(value), (sharing) =>
      sharing.state === 'waits' || sharing.state === 'sent' ? undefined : { ...sharing, state: 'waits' },
    );
    this.#listener();
  }

  forget(): boolean {
    this.#applied.clear();
    return this.#isAt(0);
  }

  accepts({ value = '' }: KeyWrite): boolean {
    try {
      readSharedSet(value);
      return true;
    } catch (error) {
      if (!(error instanceof MemberFault)) throw error;
      return false;
    }
  }

  apply(states: readonly KeyState[], position: number | undefined): readonly string[] | undefined {
    const areAllKeys = position === undefined;
    for (const key of new Set(states.map((state) => state.key))) {
      const applied = areAllKeys ? 0 : (this.#applied.get(key) ?? 0);
      const fresh = states.filter((state) => state.key === key && state.counter > applied);
      const last = fresh.at(-1);
      if (!last) continue;
      const supersedes = (seen: number): boolean =>
        fresh.some(({ isOwn, counter }) => !isOwn && counter > seen);
      if (!this.#apply({ last, supersedes }, areAllKeys)) return undefined;
      this.#applied.set(key, last.counter);
    }
    if (states.length === 0 && position !== undefined && !this.#isAt(position)) return undefined;
    this.#position = position ?? this.#position;
    const givenUp = [...this.#givenUp];
    this.#givenUp.clear();
    return givenUp;
  }

  /** Sets are never deleted: if the store lacks one, it has lost it, and the set is sent again. */
  keepOnly(keys: ReadonlySet<string>): boolean {
    return this.renewOthers(keys);
  }

  renewOthers(keys: ReadonlySet<string>): boolean {
    const missing = [...this.#parts.shared().keys()].filter((name) => !keys.has(name));
    const areNoted = missing.map((name) =>
      this.#note(name, (sharing, { peers, draining }) =>
        peers || draining.length > 0 ? { ...sharing, state: 'waits', seen: 0 } : undefined,
      ),
    );
    return areNoted.every(Boolean);
  }

  repair(keys: ReadonlySet<string>): boolean {
    const areNoted = [...keys].map((name) =>
      this.#note(name, (sharing) =>
        sharing.state === 'waits' || sharing.state === 'sent'
          ? undefined
          : { ...sharing, state: 'waits', seen: this.#position },
      ),
    );
    this.#listener();
    return areNoted.every(Boolean);
  }

  #changeOf({ name, configured, membership }: SharedUpstream): KeyChange | undefined {
    const isNoted = membership.noteSharing((sharing) =>
      sharing.state === 'waits' ? { ...sharing, state: 'sent', sequence: this.#nextSequence() } : undefined,
    );
    const { sharing, peers, draining } = membership.set;
    if (!isNoted || sharing?.state !== 'sent') return undefined;
    const { sequence, seen } = sharing;
    const value = sharedSetText({ node: this.#parts.nodeId, sequence, configured, peers, draining });
    const change = { key: name, seen, ttlMs: 0, value, sequence };
    if (Buffer.byteLength(name) + Buffer.byteLength(value) <= MAX_KEYED_BYTES) return change;
    this.acknowledged(change);
    const message = `${labelOf(name)} has more than ${MAX_KEYED_BYTES} bytes: other gateways are not told of it`;
    this.#parts.log.write('error', message);
    return undefined;
  }

  /** Returns a sequence from the clock: it exceeds those of the former worker, even after a reload with new memory. */
  #nextSequence(): number {
    this.#sequence = Math.max(this.#sequence + 1, Math.floor(monotonicMs() * 1000));
    return this.#sequence;
  }

  /** Applies the states of one key. Returns false if the zone is busy. */
  #apply({ last, supersedes }: KeyNews, areAllKeys: boolean): boolean {
    const { key, value = '' } = last;
    const upstream = this.#parts.shared().get(key);
    const theirs = readSharedSet(value);
    if (!upstream) {
      // An old state may be of gateways that no longer exist, and is not worth a warning.
      if (!areAllKeys) this.#refused(key, theirs, 'it is not shared here');
      return true;
    }
    if (last.isOwn) this.#resend(key, theirs);
    const next = this.#next(theirs, { last, supersedes });
    try {
      if (upstream.configured === theirs.configured) return upstream.follow(theirs, next);
      this.#refused(key, theirs, 'its "server" lines are others there');
    } catch (error) {
      if (!(error instanceof MemberFault)) throw error;
      this.#refused(key, theirs, error.message);
    }
    // Later changes on this node have seen the refused set nevertheless.
    return this.#note(key, next);
  }

  /** Lets the last local change wait again if the store has an earlier one: it has lost the last one. */
  #resend(key: string, { sequence }: SharedSet): void {
    this.#note(key, (sharing) =>
      sharing.state === 'known' && sequence < sharing.sequence ? { ...sharing, state: 'waits' } : undefined,
    );
  }

  #next({ sequence }: SharedSet, { last: { key, counter, isOwn }, supersedes }: KeyNews): NextSharing {
    return (sharing, _set, isEqual) => {
      const { state, seen } = sharing;
      if (state === 'waits' || state === 'sent') {
        if (!supersedes(seen)) return undefined;
        if (!isEqual) this.#givenUp.add(key);
      }
      const isKnown = isOwn && sequence === sharing.sequence;
      return { ...sharing, state: isKnown ? 'known' : 'others', seen: counter };
    };
  }

  /** Lowers `seen` to `position`: a store that has lost entries numbers new ones from there, which are unseen. */
  #isAt(position: number): boolean {
    const beyond = [...this.#parts.shared()].filter(
      ([, { membership }]) => (membership.set.sharing?.seen ?? 0) > position,
    );
    const areNoted = beyond.map(([name]) =>
      this.#note(name, (sharing) => ({ ...sharing, seen: Math.min(sharing.seen, position) })),
    );
    return areNoted.every(Boolean);
  }

  #note(key: string, next: NextSharing): boolean {
    return this.#parts.shared().get(key)?.membership.noteSharing(next) ?? true;
  }

  /** Logs once that a set cannot be taken over. */
  #refused(key: string, { node }: SharedSet, why: string): void {
    const message = `${labelOf(key)}, as node "${node}" has made it, is not taken over: ${why}`;
    if (this.#warned.has(message) || this.#warned.size >= MOST_WARNED) return;
    this.#warned.add(message);
    this.#parts.log.write('warn', message);
  }
}

function isSent({ state, sequence }: MemberSharing, change: number): boolean {
  return state === 'sent' && sequence === change;
}

function labelOf(name: string): string {
  return `the set of upstream "${name.slice(0, LONGEST_NAME)}"`;
}
