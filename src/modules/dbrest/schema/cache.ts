import { setTimeout as sleep } from 'node:timers/promises';
import type { Schema } from './schema.ts';

/** For a possible change: reloads take at most a tenth of the time, and there is at most one per second. */
const SHORTEST_PAUSE_MS = 1_000;
const PAUSE_PER_LOAD = 10;
/** For a certain change: reloads take at most a third of the time. */
const PAUSE_PER_CHANGE = 2;
/** A request waits at most this long for a reload that is due; for a possible change so many requests may wait. */
const LONGEST_PAUSE_MS = 2_000;
const MOST_WAITING = 100;

/** The difference between a schema and the one before it. */
interface SchemaChange {
  /** They have the same entries. */
  readonly isSame: boolean;
  /** A type is gone, or replaced by one of the same name. */
  readonly losesTypes: boolean;
}

/**
 * The schema of one database. It is loaded on first use, once for all waiting requests. It is reloaded, while the old
 * one remains in use, when a request names something unknown or the database announces a change.
 */
export class SchemaCache {
  readonly #read: (fresh: boolean) => Promise<Schema>;
  readonly #replaced: (change: SchemaChange) => void;
  readonly #followers = new Set<(schema: Schema) => void>();
  #schema: Schema | undefined;
  #loading: Promise<Schema> | undefined;
  #refreshing: Promise<void> | undefined;
  /** Duration of the last load. */
  #loadMs = 0;
  /** End of the last load that a request caused. */
  #reloadedMs = 0;
  /** Number of requests that wait for a reload that may bring a name. */
  #waiting = 0;
  readonly #readState: () => Promise<string>;
  /** The query of the state of the database that runs, and the one that follows it. */
  #looking: Promise<string> | undefined;
  #lookingNext: Promise<string> | undefined;

  /** `fresh`: a load that began before this call does not count. `replaced`: called when a schema has a successor. */
  constructor(
    read: (fresh: boolean) => Promise<Schema>,
    replaced: (change: SchemaChange) => void = () => undefined,
    readState: () => Promise<string> = () => Promise.resolve(''),
  ) {
    this.#read = read;
    this.#replaced = replaced;
    this.#readState = readState;
  }

  /** The schema, loaded if necessary. Rejects as `read` does. */
  current(): Schema | Promise<Schema> {
    return this.#schema ?? this.#load();
  }

  /** The loaded schema, if any. */
  get known(): Schema | undefined {
    return this.#schema;
  }

  /**
   * A schema newer than `seen`, for a request that names something unknown. With `waits` it waits until a reload is
   * due, if the database has changed. `undefined` if that is too far away, too many wait, or the reload failed.
   */
  async newerThan(seen: Schema, { waits = false } = {}): Promise<Schema | undefined> {
    if (this.#schema && this.#schema !== seen) return this.#schema;
    if (this.#pauseMs(Math.max(SHORTEST_PAUSE_MS, PAUSE_PER_LOAD * this.#loadMs)) > 0) {
      if (!waits || this.#waiting >= MOST_WAITING) return undefined;
      this.#waiting += 1;
      const isDue = await this.#whenDue(seen);
      this.#waiting -= 1;
      if (!isDue) return undefined;
    }
    return this.#schema === seen ? this.#reload(false) : this.#schema;
  }

  /**
   * A schema newer than `seen`, for a request that has shown a change; it waits until a reload is due. `undefined` if
   * that is too far away or the reload failed.
   */
  async successorOf(seen: Schema): Promise<Schema | undefined> {
    const pauseMs = this.#pauseMs(PAUSE_PER_CHANGE * this.#loadMs);
    if (pauseMs > LONGEST_PAUSE_MS) return undefined;
    if (pauseMs > 0) await sleep(pauseMs, undefined, { ref: false });
    return this.#schema === seen ? this.#reload(true) : this.#schema;
  }

  /** Waits until a reload is due for a change; resolves to false if there was none, or it is too far away. */
  async #whenDue(seen: Schema): Promise<boolean> {
    if (!(await this.#hasChanged(seen))) return false;
    const pauseMs = this.#pauseMs(Math.max(SHORTEST_PAUSE_MS, PAUSE_PER_CHANGE * this.#loadMs));
    if (pauseMs > LONGEST_PAUSE_MS) return false;
    if (pauseMs > 0) await sleep(pauseMs, undefined, { ref: false });
    return true;
  }

  /** Returns whether the database has changed since a schema was read. */
  async #hasChanged({ state = '' }: Schema): Promise<boolean> {
    try {
      return (await this.#look()) !== state;
    } catch {
      return false;
    }
  }

  /** The state of the database after this call. Requests that come at the same time share one query. */
  #look(): Promise<string> {
    if (!this.#looking) {
      this.#looking = this.#readState().finally(() => (this.#looking = undefined));
      return this.#looking;
    }
    this.#lookingNext ??= this.#looking.then(ignore, ignore).then(() => {
      this.#lookingNext = undefined;
      return this.#look();
    });
    return this.#lookingNext;
  }

  /** The time until a reload may begin that keeps this distance. A load in progress is joined at once. */
  #pauseMs(distanceMs: number): number {
    return this.#loading ? 0 : this.#reloadedMs + distanceMs - Date.now();
  }

  /** Reloads, or joins a load in progress. */
  async #reload(fresh: boolean): Promise<Schema | undefined> {
    try {
      return await this.#load(fresh);
    } catch {
      // The old schema remains in use; the pool reports the failed connection.
      return undefined;
    } finally {
      this.#reloadedMs = Date.now();
    }
  }

  /**
   * Loads a schema that contains all changes made before this call. A load in progress may have begun too early and is
   * followed by another one. Never rejects: on failure the old schema remains.
   */
  refresh(): Promise<void> {
    if (!this.#loading) return this.#load(true).then(ignore, ignore);
    this.#refreshing ??= this.#loading.then(ignore, ignore).then(() => {
      this.#refreshing = undefined;
      return this.#load(true).then(ignore, ignore);
    });
    return this.#refreshing;
  }

  /** Calls `follower` with each schema when it comes into use. Returns the function that stops this. */
  follow(follower: (schema: Schema) => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Replaces the schema by one that another worker has read, unless it is older. */
  adopt(schema: Schema): Schema {
    const { reads = Infinity } = schema;
    const before = this.#schema;
    if (before && reads < (before.reads ?? 0)) return before;
    this.#schema = schema;
    for (const follower of this.#followers) follower(schema);
    if (before) this.#replaced(changeOf(before, schema));
    return schema;
  }

  #load(fresh = false): Promise<Schema> {
    if (this.#loading) return this.#loading;
    const startedMs = Date.now();
    this.#loading = this.#read(fresh)
      .then((schema) => this.adopt(schema))
      .finally(() => {
        this.#loading = undefined;
        this.#loadMs = Date.now() - startedMs;
      });
    return this.#loading;
  }
}

function changeOf(before: Schema, after: Schema): SchemaChange {
  const isSame = before.digest !== undefined && before.digest === after.digest;
  return { isSame, losesTypes: [...(before.typeIds ?? [])].some((id) => !after.typeIds?.has(id)) };
}

function ignore(): void {}
