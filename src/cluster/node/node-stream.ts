import type { ClusterStore, Seal, StoredEntry } from '../stores/index.ts';
import type { Gap } from './subject.ts';

/** What streams count and tell. */
export interface StreamCounts {
  sent(count: number): void;
  received(count: number): void;
  duplicate(): void;
  /** An entry was dropped: it is not genuine, or beyond the limits. */
  rejected(stream: string): void;
  gap(stream: string, gap: Gap): void;
  /** What was read is not what the store has, or not all of it: it is read anew from an earlier entry on, or all keys are. */
  resynced(): void;
  /** A gap of a stream that cannot tell of it by itself. */
  keysMissed(stream: string, gap: Gap): void;
  dropped(stream: string, count: number): void;
  /** The store says that it has entries that were never sent. */
  forged(stream: string): void;
  /** A change of a key that was made here was given up for another node's. */
  conflict(stream: string, key: string): void;
}

/** What the streams of a node have in common. */
export interface StreamParts {
  readonly nodeId: string;
  readonly seal: Seal;
  readonly counts: StreamCounts;
}

/** One stream of the store on this node: what is made here goes out, what others have made comes in. */
export interface NodeStream {
  readonly subject: { readonly stream: string; readonly digest: string };
  /** The counter of the last entry that was read; `undefined`: it has to begin (anew). */
  readonly position: number | undefined;
  /** How many entries wait for the store. */
  readonly waiting: number;
  /** How often entries were missing. */
  readonly gaps: number;
  /** How long this node has not had all that the store has. */
  lagMs(nowMs: number): number;
  /** The store cannot be asked. */
  interrupted(): void;
  /** The store may have entries that were not read. */
  isBehind(): void;
  /** Gives up what waits for the store. */
  drop(): void;
  /**
   * Finds the counter to read from, each time that the store can be asked again. The store may have forgotten what it had
   * confirmed. Rejects as the store does.
   */
  begin(store: ClusterStore): Promise<void>;
  /**
   * Compares what the store has with what was read from it and sent to it. False: the store has more, as it had the last time, and
   * nothing was read in between. Rejects as the store does.
   */
  verify(store: ClusterStore): Promise<boolean>;
  /** Sends what was made here, until nothing is left or the store fails: then it rejects as the store does. */
  send(store: ClusterStore): Promise<void>;
  /** Takes over what was made here since the last call, also while the store cannot be asked. */
  collect(): void;
  /** Takes the entries of one read, which was behind a counter. */
  receive(entries: readonly StoredEntry[], behind: number): Promise<void>;
}

/** The first and the last counter that are missing among entries; `undefined`: none is. */
export function gapIn(entries: readonly StoredEntry[], behind: number): Gap | undefined {
  let last = behind;
  let gap: Gap | undefined;
  for (const { counter } of entries) {
    if (counter > last + 1) gap = { from: gap?.from ?? last + 1, to: counter - 1 };
    last = Math.max(last, counter);
  }
  return gap;
}
