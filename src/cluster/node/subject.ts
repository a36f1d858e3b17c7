/** An entry that was made here, before it is signed. */
interface OwnEntry {
  /** Grows with each entry of this incarnation; there may be holes. */
  readonly sequence: number;
  /** Names and values in turn. */
  readonly fields: readonly string[];
}

/** An entry of another node, or of this one before it was started again. */
export interface ForeignEntry extends OwnEntry {
  readonly origin: string;
  /** Its number in the stream. */
  readonly counter: number;
}

/** An own entry that the store has, and its number there. */
export interface ConfirmedEntry {
  readonly sequence: number;
  readonly counter: number;
}

/** The own entries since the last call. */
export interface Taken {
  readonly entries: readonly OwnEntry[];
  /** How many others were overwritten before they could be taken. */
  readonly lost: number;
}

/** What nodes tell each other about in one stream of the store, as one of them sees it. */
export interface Subject {
  /** `ev:bus` */
  readonly stream: string;
  /** Of the parameters that must be the same on all nodes. */
  readonly digest: string;
  /** Identifies the memory that the sequences count in. */
  readonly incarnation: string;
  /** This many of the last entries are applied on a node that begins. */
  readonly history: number;
  /** Up to which counter this node has the stream; `undefined`: it begins. */
  readonly position: number | undefined;
  /**
   * The birth of the stream that the position is in, as the store told it; 0: it has not. Only where the position outlives the process:
   * the store may be another one by then.
   */
  birth?: number;
  /** Calls `listener` when there may be entries to take. Returns the function that ends it. */
  watch(listener: () => void): () => void;
  take(most: number): Taken;
  /** The store has own entries. */
  confirmed(entries: readonly ConfirmedEntry[]): void;
  /** Tells whether these fields are an entry that may be applied. */
  accepts(fields: readonly string[]): boolean;
  /**
   * Applies entries in their order, which are behind a counter; then this node has the stream up to `position`. False: not now, or
   * the node is not at that counter: then all of them must come again.
   */
  apply(entries: readonly ForeignEntry[], position: number, behind: number): boolean;
  /** Tells the users of this node that entries of the stream are missing. */
  tellGap(gap: Gap): void;
  /** Tells the users of all nodes that entries made here never left. */
  tellLost(count: number): void;
}

/** Counters of a stream whose entries this node has not got, or that the store has lost. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}
