/** An entry that was made on this node, before it is sealed. */
interface LocalEntry {
  /** Grows with each entry of this incarnation; some numbers may be left out. */
  readonly sequence: number;
  /** Names and values alternate. */
  readonly fields: readonly string[];
}

/** A remote entry: one of another node, or of a former incarnation of this one. */
export interface RemoteEntry extends LocalEntry {
  readonly origin: string;
  /** Its number in the stream. */
  readonly counter: number;
}

/** A local entry that the store has acknowledged, and its number in the stream. */
export interface AcknowledgedEntry {
  readonly sequence: number;
  readonly counter: number;
}

/** The local entries since the last call. */
export interface Taken {
  readonly entries: readonly LocalEntry[];
  /** The number of other entries that were overwritten before they could be taken. */
  readonly lost: number;
}

/** One subject on one node: gives local entries to a stream of the store, and applies remote ones. */
export interface Subject {
  /** The name of the stream, such as `ev:bus`. */
  readonly stream: string;
  /** The digest of the parameters that must be the same on all nodes. */
  readonly digest: string;
  /** Identifies the memory in which sequences are counted. */
  readonly incarnation: string;
  /** The number of last entries that a new node applies. */
  readonly history: number;
  /** The counter up to which this node has the stream; `undefined`: the node is new to it. */
  readonly position: number | undefined;
  /**
   * The birth of the stream that the position belongs to; 0: it is unknown. Present only if the position outlives the
   * process: the store may be another one by then.
   */
  birth?: number;
  /** Calls `listener` when there may be entries to take. Returns the function that ends it. */
  watch(listener: () => void): () => void;
  take(most: number): Taken;
  /** Called when the store has acknowledged local entries. */
  acknowledged(entries: readonly AcknowledgedEntry[]): void;
  /** Returns whether an entry with these fields may be applied. */
  accepts(fields: readonly string[]): boolean;
  /**
   * Applies the entries after the counter `behind`, in order; this node then has the stream up to `position`. Returns
   * false if that is not possible now, or the node is not at `behind`: all entries must be given again.
   */
  apply(entries: readonly RemoteEntry[], position: number, behind: number): boolean;
  /** Tells the users of this node that entries of the stream are missing. */
  tellGap(gap: Gap): void;
  /** Tells the users of all nodes that entries of this node were dropped before the store had them. */
  tellLost(count: number): void;
}

/** The first and the last counter of entries that this node has missed, or that the store has lost. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}
