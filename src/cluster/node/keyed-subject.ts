import type { KeyWrite } from '../stores/index.ts';

/** A key that was changed here, as it is now. */
export interface KeyChange extends KeyWrite {
  /** Grows with each change of this incarnation; another change of the key has another one. */
  readonly sequence: number;
}

/** What another node has made of a key, or this one before. */
export interface KeyState extends Omit<KeyWrite, 'seen'> {
  /** The time that is left. */
  readonly ttlMs: number;
  readonly counter: number;
  /** This incarnation has written it. */
  readonly isOwn: boolean;
}

/**
 * Values by key that all nodes end up with, as one node sees them: it changes them at once, and gives its change up if the store had
 * taken a later one of another node by then.
 */
export interface KeyedSubject {
  /** `di:flags` */
  readonly stream: string;
  /** Of the parameters that must be the same on all nodes. */
  readonly digest: string;
  /** Identifies the memory that the sequences count in. */
  readonly incarnation: string;
  /** The birth of the stream, as the store told it when all keys were read; 0: they were not. It is kept with the keys. */
  birth: number;
  /** Calls `listener` when there may be changes. Returns the function that ends it. */
  watch(listener: () => void): () => void;
  /** The changes that wait for the store, by ascending sequence: all below the last one given. They wait until they are settled. */
  changes(most: number): readonly KeyChange[];
  /** The store has the change. */
  confirmed(change: KeyChange): void;
  /** The store has refused the change. False: the key has changed since, or has been overtaken already. Else it does not wait any more. */
  overtaken(change: KeyChange): boolean;
  /** The store has lost what it had confirmed: the change is made again, unless a later one waits. */
  renew(change: KeyChange): void;
  /** The store was emptied: what was seen of it is not what it has now. False: not now. */
  forget(): boolean;
  /** Tells whether this may be applied. */
  accepts(write: KeyWrite): boolean;
  /**
   * Applies what the store has, in order; then this node has the stream up to `position`, and a change that is made now has seen that.
   * Without one, these are some of all keys as the store has them, whatever counter was applied before. A change that waits is given up
   * for a state that it has not seen and that is not own. Returns the keys of those, unless the state has the same value; `undefined`:
   * not now, and all must come again.
   */
  apply(states: readonly KeyState[], position: number | undefined): readonly string[] | undefined;
  /** The store has no other keys than these: others go, unless they wait. False: not now. */
  keepOnly(keys: ReadonlySet<string>): boolean;
  /** The store has older values of these keys, which were applied nowhere here: what is here waits for it again, having seen them. False: not now. */
  repair(keys: ReadonlySet<string>): boolean;
  /** The store was emptied, and has these keys by now: others wait for it again, as having seen nothing. False: not now. */
  renewOthers(keys: ReadonlySet<string>): boolean;
}
