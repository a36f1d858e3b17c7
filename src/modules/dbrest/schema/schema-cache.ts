import type { Schema } from './types.ts';

/** At most a tenth of the time goes into reloads, and never more than one reload a second. */
const SHORTEST_PAUSE_MS = 1_000;
const PAUSE_PER_LOAD = 10;

/**
 * The schema of one database: loaded at the first need, one load for all who wait, and loaded again beside the old one,
 * which goes on answering, when a request names something unknown or somebody knows of a change.
 */
export class SchemaCache {
  readonly #read: () => Promise<Schema>;
  #schema: Schema | undefined;
  #loading: Promise<Schema> | undefined;
  #refreshing: Promise<void> | undefined;
  #nextReloadMs = 0;

  constructor(read: () => Promise<Schema>) {
    this.#read = read;
  }

  /** The schema, at once when there is one. Rejects as `read` does when there is none and none can be had. */
  current(): Schema | Promise<Schema> {
    return this.#schema ?? this.#load();
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
    if (!this.#loading) return this.#load().then(ignore, ignore);
    this.#refreshing ??= this.#loading.then(ignore, ignore).then(() => {
      this.#refreshing = undefined;
      return this.#load().then(ignore, ignore);
    });
    return this.#refreshing;
  }

  /** A schema that came from elsewhere, newer than any that is here. */
  adopt(schema: Schema): void {
    this.#schema = schema;
  }

  #load(): Promise<Schema> {
    this.#loading ??= this.#read()
      .then((schema) => (this.#schema = schema))
      .finally(() => (this.#loading = undefined));
    return this.#loading;
  }
}

function ignore(): void {}
