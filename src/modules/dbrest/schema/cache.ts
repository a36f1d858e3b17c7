import { setTimeout as sleep } from 'node:timers/promises';
import type { Schema } from './schema.ts';

/** For what may be a change: at most a tenth of the time goes into reloads, and never more than one reload a second. */
const SHORTEST_PAUSE_MS = 1_000;
const PAUSE_PER_LOAD = 10;
/** For what is one: at most a third of the time, and nobody waits for longer than this. */
const PAUSE_PER_CHANGE = 2;
const LONGEST_PAUSE_MS = 2_000;

/**
 * The schema of one database: loaded at the first need, one load for all who wait, and loaded again beside the old one,
 * which goes on answering, when a request names something unknown or somebody knows of a change.
 */
export class SchemaCache {
  readonly #read: (fresh: boolean) => Promise<Schema>;
  #schema: Schema | undefined;
  #loading: Promise<Schema> | undefined;
  #refreshing: Promise<void> | undefined;
  /** How long the last load took. */
  #loadMs = 0;
  /** When the last load was over that a request asked for. */
  #reloadedMs = 0;

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
    const pauseMs = Math.max(SHORTEST_PAUSE_MS, PAUSE_PER_LOAD * this.#loadMs);
    if (!this.#loading && Date.now() < this.#reloadedMs + pauseMs) return undefined;
    return this.#reload(false);
  }

  /**
   * A schema newer than `seen`, for a request that shows that it has changed: it waits until it is time for a reload.
   * `undefined` when that is too far away, or the reload failed.
   */
  async successorOf(seen: Schema): Promise<Schema | undefined> {
    const pauseMs = this.#reloadedMs + PAUSE_PER_CHANGE * this.#loadMs - Date.now();
    if (!this.#loading && pauseMs > LONGEST_PAUSE_MS) return undefined;
    if (!this.#loading && pauseMs > 0) await sleep(pauseMs, undefined, { ref: false });
    return this.#schema === seen ? this.#reload(true) : this.#schema;
  }

  /** Joins a load under way. */
  async #reload(fresh: boolean): Promise<Schema | undefined> {
    try {
      return await this.#load(fresh);
    } catch {
      // The old schema goes on serving; the connection that failed is reported by the pool.
      return undefined;
    } finally {
      this.#reloadedMs = Date.now();
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

function ignore(): void {}
