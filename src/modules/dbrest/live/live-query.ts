import { dataLines } from '../../../event-streams.ts';
import { type DbrestFault, tooManyFollowed, tooManyStreams } from '../fault/index.ts';
import type { Followed } from '../schema/index.ts';
import type { ChangeFeed, Follower, Snapshot } from './change-feed.ts';
import { EventLog, type LiveSource, type LiveStream } from './live-stream.ts';
import { type KeyedRow, KnownRows, type RowChange } from './known-rows.ts';

const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 5_000;
/** Most rows that all followed reads of a database keep track of, in one worker. */
const MOST_KNOWN = 2_000_000;
/** With more keys than this to read, all rows are read. */
const MOST_PENDING = 20_000;
/** A client has an outdated snapshot if it would have to be sent more than this after it, in bytes. */
const LONGEST_TAIL_BYTES = 65_536;

/** The parts of a followed read. */
interface LiveQueryParts {
  readonly feed: ChangeFeed;
  readonly followed: Followed;
  /** Reads the rows of the request; rejects as `Database.read` does, or with a fault of `take`. */
  readonly readAll: (take: (row: KeyedRow) => void) => Promise<void>;
  /** Reads the rows with these keys, a JSON array. */
  readonly readKeys: (keys: string, take: (row: KeyedRow) => void) => Promise<void>;
  /** The rows may be only some of those that the filter lets through. */
  readonly isPart: boolean;
  readonly mostRows: number;
  readonly bufferBytes: number;
  /** The fault of an error that ends the read for good; `undefined`: the read is tried again. */
  readonly faultOf: (error: unknown) => DbrestFault | undefined;
  /** Removes the read from those that clients can join. */
  readonly ended: () => void;
}

/** A client that waits for a snapshot. */
interface Joining {
  readonly resolve: (snapshot: Snapshot) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A read whose rows change, for all clients with the same request and role. One statement runs at a time: it reads the
 * rows that were announced meanwhile. Differences from the rows that clients know become events.
 */
export class LiveQuery implements Follower {
  readonly table: string;
  readonly #parts: LiveQueryParts;
  readonly #known = new KnownRows();
  readonly #log: EventLog;
  readonly #streams = new Set<LiveStream>();
  readonly #unfollow: () => void;
  readonly #joining: Joining[] = [];
  /** Keys of rows that were announced and not read yet. */
  #pending = new Set<string>();
  #isAllPending = false;
  /** The latest announcement that is pending or was read. */
  #generation: number;
  #loggedBytes = 0;
  /** Number of known rows that the feed has been told of. */
  #counted = 0;
  #isRunning = false;
  /** The rows were read once. */
  #hasBegun = false;
  #retryMs = FIRST_RETRY_MS;
  #retry: NodeJS.Timeout | undefined;
  #expiry: NodeJS.Timeout | undefined;
  /** No more clients can join. */
  hasEnded = false;

  constructor(parts: LiveQueryParts) {
    this.#parts = parts;
    this.table = parts.followed.by;
    this.#unfollow = parts.feed.follow(this);
    this.#generation = parts.feed.generation;
    this.#log = new EventLog(parts.bufferBytes, this.#generation);
  }

  /**
   * The source for a client that has the events up to `id`. Without an id, or if the client has missed too many of
   * them, it begins with the rows. Rejects as the reads do.
   */
  async join(id: string | undefined): Promise<LiveSource> {
    const seen = id === undefined ? undefined : this.#generationOf(id);
    const from = seen === undefined || !this.#hasBegun ? undefined : this.#log.positionAfter(seen);
    if (from !== undefined) return { log: this.#log, from, snapshot: undefined };
    const snapshot = this.#currentSnapshot() ?? (await this.#nextSnapshot());
    return { log: this.#log, from: snapshot.from, snapshot };
  }

  /** Adds a stream. Returns the function that removes it. */
  add(stream: LiveStream): () => void {
    this.#streams.add(stream);
    this.#parts.feed.lingering.remove(this);
    return () => {
      this.#streams.delete(stream);
      // A client that comes back has the rows.
      if (this.#streams.size === 0) this.#parts.feed.snapshots.drop(this);
      this.#lingerIfAlone();
    };
  }

  changed(keys: ReadonlySet<string> | 'any', generation: number): void {
    this.#generation = generation;
    if (keys === 'any') this.#isAllPending = true;
    else this.#await(keys);
    void this.#run();
  }

  /** Ends all streams, with an event that gives the reason. */
  fail(fault: DbrestFault): void {
    for (const { reject } of this.#joining.splice(0)) reject(fault);
    const last = `event: failed\n${dataLines(fault.body('verbose'))}\n`;
    for (const stream of this.#streams) stream.close(last);
    this.end();
  }

  /** Ends all streams after a time, unless the read has ended before. */
  failIn(ms: number, fault: DbrestFault): void {
    this.#expiry = setTimeout(() => this.fail(fault), ms).unref();
  }

  end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    clearTimeout(this.#expiry);
    clearTimeout(this.#retry);
    this.#unfollow();
    const { feed, ended } = this.#parts;
    feed.lingering.remove(this);
    feed.snapshots.drop(this);
    feed.known -= this.#counted;
    ended();
  }

  #lingerIfAlone(): void {
    if (this.#streams.size > 0 || this.#joining.length > 0 || this.hasEnded) return;
    this.#parts.feed.lingering.add(this);
  }

  #await(keys: Iterable<string>): void {
    for (const key of keys) this.#pending.add(key);
    if (this.#pending.size <= MOST_PENDING) return;
    this.#pending.clear();
    this.#isAllPending = true;
  }

  #generationOf(id: string): number | undefined {
    const [epoch, generation = ''] = id.split('-');
    return epoch === this.#parts.feed.epoch && /^\d{1,15}$/.test(generation) ? Number(generation) : undefined;
  }

  /** A snapshot serves later clients too, with the events since. */
  #currentSnapshot(): Snapshot | undefined {
    const snapshot = this.#parts.feed.snapshots.of(this);
    if (!snapshot || this.#log.at(snapshot.from) === 'dropped') return undefined;
    return this.#loggedBytes - snapshot.loggedBytes > LONGEST_TAIL_BYTES ? undefined : snapshot;
  }

  #nextSnapshot(): Promise<Snapshot> {
    return new Promise((resolve, reject) => {
      this.#joining.push({ resolve, reject });
      void this.#run();
    });
  }

  /** Runs statements until nothing is left to read. */
  async #run(): Promise<void> {
    const isWaiting = this.#retry !== undefined && this.#joining.length === 0;
    if (this.#isRunning || isWaiting) return;
    this.#isRunning = true;
    try {
      while (!this.hasEnded && this.#isBehind) {
        await this.#parts.feed.read(() => this.#step());
        this.#retryMs = FIRST_RETRY_MS;
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isRunning = false;
    }
  }

  get #isBehind(): boolean {
    return this.#joining.length > 0 || this.#isAllPending || this.#pending.size > 0;
  }

  async #step(): Promise<void> {
    if (this.hasEnded) return;
    if (this.#joining.length > 0 || this.#isAllPending) await this.#readAll();
    else await this.#readPending();
    this.#lingerIfAlone();
  }

  async #readAll(): Promise<void> {
    const { isPart, readAll, mostRows } = this.#parts;
    const generation = this.#generation;
    const joining = this.#joining.splice(0);
    const pending = this.#pending;
    const wasAllPending = this.#isAllPending;
    this.#pending = new Set();
    this.#isAllPending = false;
    try {
      const rows = new Map<string, KeyedRow>();
      await readAll((row) => {
        if (rows.size >= mostRows) throw tooManyFollowed(mostRows);
        rows.set(row.key, row);
      });
      const isKnownGone = (key: string): boolean => !rows.has(key);
      const unseen = [...this.#known.keys()].filter(isKnownGone);
      // A part of the rows does not show whether the others still exist.
      if (isPart) this.#await([...pending, ...(wasAllPending ? unseen : [])].filter(isKnownGone));
      this.#publish(rows, isPart ? [] : unseen, generation);
      this.#hasBegun = true;
      if (joining.length > 0) this.#begin(joining, this.#keepSnapshot(rows, generation));
    } catch (error) {
      this.#joining.unshift(...joining);
      this.#isAllPending ||= wasAllPending;
      this.#await(pending);
      throw error;
    }
  }

  async #readPending(): Promise<void> {
    const generation = this.#generation;
    const keys = this.#pending;
    this.#pending = new Set();
    try {
      const rows = new Map<string, KeyedRow>();
      await this.#parts.readKeys(`[${[...keys].join(',')}]`, (row) => void rows.set(row.key, row));
      this.#publish(
        rows,
        [...keys].filter((key) => !rows.has(key)),
        generation,
      );
    } catch (error) {
      // Any role may announce any key, also one that a type refuses: only a fault of reading all rows counts.
      if (this.#parts.faultOf(error)) this.#isAllPending = true;
      else {
        this.#await(keys);
        throw error;
      }
    }
  }

  /** Takes rows that were read, and keys without a row; changes that clients do not know become events. */
  #publish(rows: ReadonlyMap<string, KeyedRow>, gone: readonly string[], generation: number): void {
    let text = '';
    const tell = (change: RowChange | undefined): void => {
      if (change) text += eventText(change);
    };
    for (const row of rows.values()) tell(this.#known.take(row));
    for (const key of gone) tell(this.#known.miss(key));
    this.#countKnown();
    // No client knows the first rows: they are sent as a snapshot.
    if (text === '' || !this.#hasBegun) return;
    // The id comes last: a client that has read only a part of a burst gets all of it again.
    const burst = `${text.slice(0, -1)}id: ${this.#parts.feed.epoch}-${generation}\n\n`;
    this.#log.add(burst, generation);
    this.#loggedBytes += burst.length;
    for (const stream of this.#streams) stream.wake();
  }

  #countKnown(): void {
    const { feed, mostRows } = this.#parts;
    const { size } = this.#known;
    feed.known += size - this.#counted;
    this.#counted = size;
    if (size > mostRows) throw tooManyFollowed(mostRows);
    if (feed.known > MOST_KNOWN) throw tooManyStreams('location');
  }

  #keepSnapshot(rows: ReadonlyMap<string, KeyedRow>, generation: number): Snapshot | undefined {
    const { epoch, snapshots } = this.#parts.feed;
    const id = `id: ${epoch}-${generation}\n`;
    const text = `event: snapshot\n${id}${dataLines(`[${Array.from(rows.values(), ({ row }) => row).join(',')}]`)}\n`;
    return snapshots.add(this, text, { from: this.#log.end, loggedBytes: this.#loggedBytes });
  }

  #begin(joining: readonly Joining[], snapshot: Snapshot | undefined): void {
    for (const { resolve, reject } of joining) {
      if (snapshot) resolve(snapshot);
      else reject(tooManyStreams('location'));
    }
  }

  /** Tries again if the database cannot be reached; an error that would come again ends the streams. */
  #failed(error: unknown): void {
    if (this.hasEnded) return;
    const fault = this.#parts.faultOf(error);
    if (fault) return this.fail(fault);
    for (const { reject } of this.#joining.splice(0)) reject(error);
    if (!this.#hasBegun) return this.end();
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      void this.#run();
    }, this.#retryMs).unref();
    this.#retryMs = Math.min(LONGEST_RETRY_MS, this.#retryMs * 2);
  }
}

function eventText(change: RowChange): string {
  const data =
    change.kind === 'delete' ? `{"key":${change.key}}` : `{"key":${change.key},"row":${change.row}}`;
  return `event: ${change.kind}\n${dataLines(data)}\n`;
}
