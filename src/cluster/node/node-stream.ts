import type { ClusterStore, Seal, StoredEntry } from '../stores/index.ts';
import type { Gap } from './subject.ts';

/** Counts and reports what happens to the streams of a node. */
export interface StreamCounts {
  sent(count: number): void;
  received(count: number): void;
  duplicate(): void;
  /** An entry was dropped: it is not genuine, or beyond the limits. */
  rejected(stream: string): void;
  gap(stream: string, gap: Gap): void;
  /** The store has lost or replaced entries that were read: earlier ones are read again, or all keys. */
  resynced(): void;
  /** A gap of a stream of keys, whose subject cannot tell its users. */
  keysMissed(stream: string, gap: Gap): void;
  dropped(stream: string, count: number): void;
  /** The store claims to have entries that were never sent. */
  forged(stream: string): void;
  /** A local change of a key was superseded. */
  conflict(stream: string, key: string): void;
}

/** The parts that all streams of a node have in common. */
export interface StreamParts {
  readonly nodeId: string;
  readonly seal: Seal;
  readonly counts: StreamCounts;
}

/** One stream of the store on this node: sends local entries, and applies remote ones. */
export interface NodeStream {
  readonly subject: { readonly stream: string; readonly digest: string };
  /** The counter of the last entry that was read; `undefined`: the stream has to begin, or to begin again. */
  readonly position: number | undefined;
  /** The number of entries that wait for the store; of keys, at most those of one call. */
  readonly waiting: number;
  /** The number of gaps. */
  readonly gaps: number;
  /** Returns how long this node may have lacked entries of the store, in ms. */
  lagMs(nowMs: number): number;
  /** Called when the store cannot be reached. */
  interrupted(): void;
  /** Notes that the store may have entries that were not read. */
  isBehind(): void;
  /** Drops the entries that wait for the store; changes of keys stay in their subject. */
  drop(): void;
  /**
   * Finds the counter to read from, each time that the store is reached again: it may have lost acknowledged entries.
   * Rejects as the store does.
   */
  begin(store: ClusterStore): Promise<void>;
  /**
   * Compares the store with what was read from it and sent to it. Returns false if the store had more entries both this
   * time and the last, and none was read in between. Rejects as the store does.
   */
  verify(store: ClusterStore): Promise<boolean>;
  /** Sends local entries until none is left. Rejects as the store does. */
  send(store: ClusterStore): Promise<void>;
  /** Takes the local entries since the last call from the subject, also while the store cannot be reached. */
  collect(): void;
  /** Applies the entries of one read, which follow the counter `behind`. */
  receive(entries: readonly StoredEntry[], behind: number): Promise<void>;
}

/** Returns the first and the last counter that are missing in entries; `undefined` if they are complete. */
export function gapIn(entries: readonly StoredEntry[], behind: number): Gap | undefined {
  let last = behind;
  let gap: Gap | undefined;
  for (const { counter } of entries) {
    if (counter > last + 1) gap = { from: gap?.from ?? last + 1, to: counter - 1 };
    last = Math.max(last, counter);
  }
  return gap;
}
