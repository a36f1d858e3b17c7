import type { Schema } from './types.ts';

/** At most a tenth of the time goes into reloads, and never more than one reload a second. */
const SHORTEST_PAUSE_MS = 1_000;
const PAUSE_PER_LOAD = 10;

/**
 * The schema of one database: loaded at the first need, one load for all who wait, and loaded again beside the old one,
 * which goes on answering, when a request names something unknown or somebody knows of a change.
 */
export class SchemaCache {
  readonly #read: (fresh: boolean) => Promise<Schema>;
  #schema: Schema | undefined;
  #loading: Promise<Schema> | undefined;
  #refreshing: Promise<void> | undefined;
  #nextReloadMs = 0;

  /** `fresh`: what others began to read before this call will not do. */
  constructor(read: (fresh: boolean) => Promise<Schema>) {
    this.#read = read;
  }

  /** The schema, at once when there is one. Rejects as `read` does when there is none and none can be had. */
  current(): Schema | Promise<Schema> {
    return this.#schema ?? this.#load();
  }

  /** The schema, if there is one yet. */
  get known(): Schema | undefined {
    return this.#schema;
  }

  /**
   * A schema newer than `seen`, for a request that found something unknown in it; `undefined` when there is none yet
   * (a reload was just done, or it failed).
   */
  async newerThan(seen: Schema): Promise<Schema | undefined> {
    if (this.#schema && this.#schema !== seen) return this.#schema;
    const startedMs = Date.now();
    if (!this.#loading && startedMs < this.#nextReloadMs) return undefined;
    try {
      return await this.#load();
    } catch {
      // The old schema goes on serving; the connection that failed is reported by the pool.
      return undefined;
    } finally {
      const endedMs = Date.now();
      this.#nextReloadMs = endedMs + Math.max(SHORTEST_PAUSE_MS, PAUSE_PER_LOAD * (endedMs - startedMs));
    }
  }

  /**
   * Loads a schema that has every change of before this call; a load under way may have begun too early for that, so
   * another one follows it. Never rejects: if it fails, the old schema goes on.
   */
  refresh(): Promise<void> {
    if (!this.#loading) return this.#load(true).then(ignore, ignore);
    this.#refreshing ??= this.#loading.then(ignore, ignore).then(() => {
      this.#refreshing = undefined;
      return this.#load(true).then(ignore, ignore);
    });
    return this.#refreshing;
  }

  /** Takes a schema that came from elsewhere, unless the one that is here was read later. */
  adopt(schema: Schema): Schema {
    const { reads = Infinity } = schema;
    if (!this.#schema || reads >= (this.#schema.reads ?? 0)) this.#schema = schema;
    return this.#schema;
  }

  #load(fresh = false): Promise<Schema> {
    this.#loading ??= this.#read(fresh)
      .then((schema) => this.adopt(schema))
      .finally(() => (this.#loading = undefined));
    return this.#loading;
  }
}

function ignore(): void {}
