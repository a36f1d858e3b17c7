import type { KeyWrite } from '../stores/index.ts';

/** A local change: a key that was changed on this node, with its present value. */
export interface KeyChange extends KeyWrite {
  /** Grows with each local change of this incarnation; a later change of the same key has a higher one. */
  readonly sequence: number;
}

/** The state of a key in the store, as another node or this one has set it. */
export interface KeyState extends Omit<KeyWrite, 'seen'> {
  /** The time that is left; 0: the key does not expire. */
  readonly ttlMs: number;
  readonly counter: number;
  /** The entry was written by this incarnation of the node. */
  readonly isOwn: boolean;
}

/**
 * The keys of a stream on one node. In the end all nodes have the same values. A local change takes effect at once.
 * It is superseded if the store has taken an entry of another node by then that the change has not seen.
 */
export interface KeyedSubject {
  /** The name of the stream, such as `di:flags`. */
  readonly stream: string;
  /** The digest of the parameters that must be the same on all nodes. */
  readonly digest: string;
  /** Identifies the memory in which sequences are counted. */
  readonly incarnation: string;
  /** The birth of the stream when all keys were read; 0: they never were. It is kept together with the keys. */
  birth: number;
  /** Calls `listener` when there may be changes. Returns the function that ends it. */
  watch(listener: () => void): () => void;
  /** Returns the first `most` local changes that wait for the store, by ascending sequence. They wait until settled. */
  changes(most: number): readonly KeyChange[];
  /** Called when the store has acknowledged the change. */
  acknowledged(change: KeyChange): void;
  /** Gives up a change that the store refused. Returns false if the key has changed since, or is superseded already. */
  superseded(change: KeyChange): boolean;
  /** Makes an acknowledged change again that the store has lost, unless a later one waits. */
  renew(change: KeyChange): void;
  /** Forgets which counters were seen, since the store was emptied. Returns false if that is not possible now. */
  forget(): boolean;
  /** Returns whether the write may be applied. */
  accepts(write: KeyWrite): boolean;
  /**
   * Applies states in order. With a `position` they are the next ones of the stream; later local changes have seen it
   * up to there. Without, they are some of all keys of the store, and are applied whatever their counters are. A change
   * that waits is superseded by a state that it has not seen and that is not own. Returns the keys of such changes,
   * unless the value is the same; `undefined` if nothing can be applied now: all states must be given again.
   */
  apply(states: readonly KeyState[], position: number | undefined): readonly string[] | undefined;
  /** Removes all keys but these and the waiting ones. Returns false if that is not possible now. */
  keepOnly(keys: ReadonlySet<string>): boolean;
  /** Lets these keys wait again, as changes that have seen the older values of the store. False: not possible now. */
  repair(keys: ReadonlySet<string>): boolean;
  /** Lets all other keys wait again, with no counter seen, after the store was emptied. False: not possible now. */
  renewOthers(keys: ReadonlySet<string>): boolean;
}
