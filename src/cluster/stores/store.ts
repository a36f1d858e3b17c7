/** An entry of a stream before it is sealed. */
export interface NewEntry {
  /** Name of the node. Neither the name nor the incarnation contains spaces. */
  readonly origin: string;
  /** Changes whenever the node starts its sequence from 1 again. */
  readonly incarnation: string;
  /** From 1, ascending within an incarnation. */
  readonly sequence: number;
  /** Names and values in turn. */
  readonly fields: readonly string[];
}

/** An entry as a node sends it. */
export interface SealedEntry extends NewEntry {
  /** Made by `sealEntry`; empty in an entry that no node of this version has written. */
  readonly mac: string;
}

/**
 * An entry as it is in the store. Entries that other programs have added to the stream are read, too: they have no MAC
 * (so `isGenuine` refuses them), no origin and no sequence; all their texts are fields.
 */
export interface StoredEntry extends SealedEntry {
  /**
   * Its number in the stream: 1, 2, 3, and so on. Other programs may have added entries that repeat or skip numbers.
   */
  readonly counter: number;
  /** The time at which the store took it, in ms on its clock; only in keyed streams. */
  readonly storedMs?: number;
}

/** A part of the keys of a stream: the newest entry of each key. */
export interface KeysPart {
  readonly entries: readonly StoredEntry[];
  /** Where the next part begins; `undefined` after the last part. */
  readonly next: string | undefined;
}

/** The end of a stream. */
export interface StreamTail {
  /** The oldest first. */
  readonly entries: readonly StoredEntry[];
  /** The newest counter; 0: the stream never had an entry. */
  readonly counter: number;
}

/** Which entry of a stream `look` gives the MAC of, and which incarnation it gives the last sequence of. */
export interface StreamQuery {
  readonly counter: number;
  readonly origin: string;
  readonly incarnation: string;
}

export interface StreamState {
  /** The newest counter; 0: the stream never had an entry. */
  readonly counter: number;
  /** The counter of the oldest entry that is kept; `counter` + 1 if no entry is kept. */
  readonly oldest: number;
  /** The MAC of the entry that was asked for, if it is kept. */
  readonly mac: string | undefined;
  /** The last sequence of the origin and incarnation that were asked for; 0 if unknown. Always 0 in keyed streams. */
  readonly lastSequence: number;
  /** The clock of the store. */
  readonly nowMs: number;
  /**
   * When a node first asked for the stream, in ms on the clock of the store. If the value changes, the store was
   * emptied in between. 0: the store could not record it.
   */
  readonly birth: number;
}

/** A heartbeat of a node. */
export interface Beat {
  readonly nodeId: string;
  readonly incarnation: string;
  /** JSON text about the node, for people. */
  readonly facts: string;
  /** Time between two heartbeats. A node without a heartbeat for three times as long is no longer live. */
  readonly heartbeatMs: number;
  /** Digests of the parameters of each stream, without spaces. */
  readonly digests: ReadonlyMap<string, string>;
}

/** A stream, or another shared thing, for which another node has other parameters. */
export interface Conflict {
  readonly stream: string;
  readonly nodeId: string;
}

/** The answer of the store to a heartbeat. */
export interface Heard {
  /** Number of live nodes, this one included. */
  readonly members: number;
  /** Differences between its digests and those of live nodes. Only one of two nodes that differ is told. */
  readonly conflicts: readonly Conflict[];
  /** Another incarnation sent the last heartbeat under this name: a former start, or another node of that name. */
  readonly isTaken: boolean;
}

/** A node that has sent a heartbeat within the last day. */
export interface Member {
  readonly nodeId: string;
  readonly incarnation: string;
  readonly facts: string;
  /** Time since its last heartbeat, on the clock of the store. */
  readonly ageMs: number;
}

/** Requests to count in a bucket of a rate limit. Fill levels and rates are in thousandths of requests, as in nginx. */
export interface Admitting {
  readonly zone: string;
  /** Hash of the key of the limit; without colons. */
  readonly keyHash: string;
  readonly milliRequestsPerSecond: number;
  /** Highest fill level at which the bucket takes a request. */
  readonly burst: number;
  /** At least 1. */
  readonly requests: number;
}

/** How many requests a bucket has taken. */
export interface Grant {
  readonly requests: number;
  /** Fill level with the first of them; each further one adds 1000. If none was taken: the level that was too high. */
  readonly excess: number;
}

/** Requests to count in one window of a quota. */
export interface Counting {
  readonly zone: string;
  /** Hash of the key of the quota and of its window; without colons. */
  readonly keyHash: string;
  readonly limit: number;
  /** If the quota does not have so many left, none is counted. Negative: gives requests back. */
  readonly needed: number;
  /** Taken besides, as far as the quota has them. */
  readonly more: number;
  /** How long the count is kept. */
  readonly ttlMs: number;
}

/** How many requests a quota has taken. */
export interface Counted {
  /** From `needed` to `needed + more`, or 0. */
  readonly requests: number;
  /** Number of requests that are counted, those of this call included. */
  readonly used: number;
}

/**
 * The Redis or PostgreSQL that nodes share. Streams have names such as `ev:ZONE`. Calls reject with `StoreLost` or
 * `StoreRefused`; no call waits for a lost store to come back, and no call is sent twice.
 */
export interface ClusterStore {
  /**
   * Adds entries of one origin and incarnation in their order, and returns their counters; 0 for an entry that is not
   * above the last sequence of the incarnation. One call per stream at a time: entries of a call repeated after a later
   * one would be lost.
   */
  append(stream: string, entries: readonly SealedEntry[]): Promise<readonly number[]>;
  /**
   * Returns entries after these counters, the oldest first, not necessarily all; an empty map if there were none for
   * `waitMs`. Takes at least one stream, and one call at a time.
   */
  read(
    behind: ReadonlyMap<string, number>,
    waitMs: number,
  ): Promise<ReadonlyMap<string, readonly StoredEntry[]>>;
  /** Returns the newest `count` entries. */
  tail(stream: string, count: number): Promise<StreamTail>;
  look(stream: string, query: StreamQuery): Promise<StreamState>;
  /**
   * Adds entries (of `keyedFields`, one origin and incarnation) to a keyed stream and returns their counters. 0: not
   * added, since another node has written the key after `seen`, or this node with a later sequence. If the other entry
   * has the same value and kind of lifetime, its counter is returned. An entry that is sent again keeps its counter.
   */
  write(stream: string, entries: readonly SealedEntry[]): Promise<readonly number[]>;
  /**
   * Returns the keys of a keyed stream in parts, for some minutes also deleted ones. A key written after the first call
   * may be in no part, or in two; every other key is in one.
   */
  keys(stream: string, from?: string): Promise<KeysPart>;
  /** Takes or extends a lease for `ttlMs`. False: another owner has it. */
  lease(name: string, owner: string, ttlMs: number): Promise<boolean>;
  /** Ends the lease, if this owner has it, so that others can take it. */
  release(name: string, owner: string): Promise<void>;
  /** Counts as many of the requests as the bucket can take. */
  admit(admitting: Admitting): Promise<Grant>;
  /** Counts requests in a window of a quota. */
  count(counting: Counting): Promise<Counted>;
  beat(beat: Beat): Promise<Heard>;
  /** Removes a node from the live ones, unless its last heartbeat is of another incarnation. */
  leave(nodeId: string, incarnation: string): Promise<void>;
  /** Returns the nodes, sorted by name. */
  members(): Promise<readonly Member[]>;
  /** Returns Redis' `maxmemory-policy`, which says what happens when the memory is full; `undefined` if unknown. */
  policy(): Promise<string | undefined>;
  /**
   * Called when reads do not give what the store has. Closes a connection that only reads and opens it again, unless a
   * reply is arriving on it.
   */
  restartReading(): void;
  /** Rejects the calls that wait. */
  close(): void;
}

/** Receives the state of a store. */
export interface StoreOwner {
  /** The store answers and takes writes, for the first time or again. */
  up(): void;
  /** The store cannot be reached, does not answer, or takes no writes. Attempts to reconnect go on. */
  down(reason: string): void;
  /** Servers with these streams cannot be reached. Attempts to reconnect go on; `up` is called when they are back. */
  partlyDown?(reason: string, isAway: (stream: string) => boolean): void;
}

/** The store cannot be reached or has not answered in time. A command that was sent may have been executed. */
export class StoreLost extends Error {
  override readonly name = 'StoreLost';
}

/** The store refused a command; the message is that of the store. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused';
}
