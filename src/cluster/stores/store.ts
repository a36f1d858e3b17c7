/** What a node publishes: an entry of a stream before it is sealed. */
export interface Entry {
  /** Name of the node; without spaces, as its incarnation. */
  readonly origin: string;
  /** Changes whenever the node begins its sequence anew. */
  readonly incarnation: string;
  /** From 1, ascending within an incarnation. */
  readonly sequence: number;
  /** Names and values in turn, all texts. */
  readonly fields: readonly string[];
}

/** An entry as a node sends it. */
export interface SealedEntry extends Entry {
  /** `sealEntry` makes it; empty in an entry that no node of this version has written. */
  readonly mac: string;
}

/**
 * An entry as it is in the store. Whatever somebody else has added to the stream is an entry too: without a mac, as `isGenuine`
 * shows, without origin and sequence, with all its texts as fields.
 */
export interface StoredEntry extends SealedEntry {
  /** Its number in the stream, from 1 without holes. What somebody else added may repeat the number before it, or jump. */
  readonly counter: number;
  /** When the store took it, in ms on its clock; only in keyed streams. */
  readonly storedMs?: number;
}

/** Some of the keys of a stream; each is the newest entry of its key. */
export interface KeysPart {
  readonly entries: readonly StoredEntry[];
  /** Where the next part begins; `undefined`: there is none. */
  readonly next: string | undefined;
}

/** The end of a stream. */
export interface StreamTail {
  /** The oldest first. */
  readonly entries: readonly StoredEntry[];
  /** The newest counter; 0: the stream never had an entry. */
  readonly counter: number;
}

/** What a node asks of a stream: the mac of one entry, and what the store has of one incarnation. */
export interface Asked {
  readonly counter: number;
  readonly origin: string;
  readonly incarnation: string;
}

export interface StreamState {
  /** The newest counter; 0: the stream never had an entry. */
  readonly counter: number;
  /** The oldest counter that is kept; `counter` + 1 if none is. */
  readonly oldest: number;
  /** The mac of the entry with the asked counter, if it is kept. */
  readonly mac: string | undefined;
  /** The last sequence of the asked origin and incarnation; 0 if there is none. Keyed streams do not tell. */
  readonly lastSequence: number;
  /** The clock of the store. */
  readonly nowMs: number;
  /**
   * When a node has asked for the stream for the first time, in ms on that clock: with another one the store was emptied since. 0: it
   * cannot note that.
   */
  readonly birth: number;
}

/** A sign of life of a node. */
export interface Beat {
  readonly nodeId: string;
  readonly incarnation: string;
  /** JSON text about the node, for people. */
  readonly facts: string;
  /** A node that is silent for three of them is not live any more. */
  readonly heartbeatMs: number;
  /** Digest of a stream's parameters by stream; without spaces. */
  readonly digests: ReadonlyMap<string, string>;
}

/** A stream, or something else that is shared, whose parameters differ from those of another node. */
export interface Conflict {
  readonly stream: string;
  readonly nodeId: string;
}

/** What a node hears when it gives a sign of life. */
export interface Heard {
  /** Number of live nodes, this one included. */
  readonly members: number;
  /** Differences between its digests and those of live nodes. Only one of the two nodes hears of it. */
  readonly conflicts: readonly Conflict[];
  /** Another incarnation of this node has given a sign of life since: one that has just ended, or a node of the same name. */
  readonly isTaken: boolean;
}

/** A node that has given a sign of life within a day. */
export interface Member {
  readonly nodeId: string;
  readonly incarnation: string;
  readonly facts: string;
  /** Time since its last sign of life, on the clock of the store. */
  readonly ageMs: number;
}

/** Requests to be counted in a bucket of a rate limit. Fills and rates are in thousandths of requests, as in nginx. */
export interface Admitting {
  readonly zone: string;
  /** Hash of the value that requests are told apart by; without colons. */
  readonly keyHash: string;
  readonly milliRequestsPerSecond: number;
  /** Maximum fill of the bucket. */
  readonly burst: number;
  /** At least 1. */
  readonly requests: number;
}

/** The requests that a bucket has taken. */
export interface Grant {
  readonly requests: number;
  /** The fill with the first of them, each further one makes it 1000 more; with none: the fill that was too high. */
  readonly excess: number;
}

/**
 * What nodes share. Streams have names such as `ev:ZONE`. Every call rejects with `StoreLost` or `StoreRefused`; nothing is queued
 * and nothing is sent twice.
 */
export interface ClusterStore {
  /**
   * Adds entries of one origin and incarnation in their order, and gives their counters; 0: the store had it, or a later one of
   * this incarnation. Only one call per stream at a time: if a call that failed is repeated after a later one, its entries are lost.
   */
  append(stream: string, entries: readonly SealedEntry[]): Promise<readonly number[]>;
  /**
   * Gives the entries behind these counters (at least one stream, one call at a time), some at a time and the oldest first; an
   * empty map if there were none for `waitMs`.
   */
  read(
    behind: ReadonlyMap<string, number>,
    waitMs: number,
  ): Promise<ReadonlyMap<string, readonly StoredEntry[]>>;
  /** Gives the newest `count` entries. */
  tail(stream: string, count: number): Promise<StreamTail>;
  look(stream: string, asked: Asked): Promise<StreamState>;
  /**
   * Adds entries of one origin and incarnation to a keyed stream, which are those of `keyedFields`, and gives their counters; 0: not
   * added, since another node, or a later sequence of this one, has written the key beyond what the entry has seen. If that has the
   * same value, and a time too or none, it counts as this one. Repeated, an entry gives the counter that it had.
   */
  write(stream: string, entries: readonly SealedEntry[]): Promise<readonly number[]>;
  /**
   * Gives the keys of a keyed stream in parts, deleted ones too for some minutes. Keys that are written meanwhile may be in no part, or
   * in two; those written before the first part was asked for are in one.
   */
  keys(stream: string, from?: string): Promise<KeysPart>;
  /** Takes, or keeps, what one node does for all, for `ttlMs`. False: another one does it. */
  lease(name: string, owner: string, ttlMs: number): Promise<boolean>;
  /** Another one can take what this owner has leased. */
  release(name: string, owner: string): Promise<void>;
  /** Counts as many of the requests as the bucket can take. */
  admit(admitting: Admitting): Promise<Grant>;
  beat(beat: Beat): Promise<Heard>;
  /** Takes back the signs of life of a node; nothing happens if they are of another incarnation. */
  leave(nodeId: string, incarnation: string): Promise<void>;
  /** Gives the nodes, by name. */
  members(): Promise<readonly Member[]>;
  /** What the store does when its memory is full: Redis' `maxmemory-policy`; `undefined` if it does not tell. */
  policy(): Promise<string | undefined>;
  /**
   * Closes the connection that reads, if there is one of its own, and opens it again: what it gives is not what there is. Not if a
   * reply is just arriving there.
   */
  readAnew(): void;
  /** Calls that wait are rejected. */
  close(): void;
}

/** Receives the state of a store. */
export interface StoreOwner {
  /** The store answers and can be written to, for the first time or again. */
  up(): void;
  /** It could not be reached, does not answer any more, or is not the one to write to. It is tried on. */
  down(reason: string): void;
  /** A part of it cannot be reached, in which these streams are; it is tried on, and `up` is called again when it is back. */
  partlyDown?(reason: string, isAway: (stream: string) => boolean): void;
}

/** The store cannot be asked or has not answered in time. What was sent may have happened. */
export class StoreLost extends Error {
  override readonly name = 'StoreLost';
}

/** The store refused a command; the message is its own. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused';
}
