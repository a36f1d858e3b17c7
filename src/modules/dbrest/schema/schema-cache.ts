import type { Schema } from './types.ts';

/** At most a tenth of the time goes into reloads, and never more than one reload a second. */
const SHORTEST_PAUSE_MS = 1_000;
const PAUSE_PER_LOAD = 10;

/**
 * The schema of one database: loaded at the first need, one load for all who wait, and loaded again beside the old one
 * when a request names something unknown.
 */
export class SchemaCache {
  readonly #read: () => Promise<Schema>;
  #schema: Schema | undefined;
  #loading: Promise<Schema> | undefined;
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

  #load(): Promise<Schema> {
    this.#loading ??= this.#read()
      .then((schema) => (this.#schema = schema))
      .finally(() => (this.#loading = undefined));
    return this.#loading;
  }
}
