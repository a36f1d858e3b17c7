import type { PoolLevel } from '../../postgres/index.ts';
import type { Counter, Counters, Histogram } from '../../zone/index.ts';

const MAX = { name: 'gw_dbrest_pool_max', help: 'Connections that the pools of all workers may have.' };
const AVAILABLE = {
  name: 'gw_dbrest_pool_available',
  help: 'Connections that are free, or may still be opened.',
};
const WAITING = { name: 'gw_dbrest_pool_waiting', help: 'Requests that wait for a connection.' };
const TIMEOUTS = {
  name: 'gw_dbrest_pool_timeouts_total',
  help: 'Requests that timed out waiting for a connection.',
};
const UNREACHED = {
  name: 'gw_dbrest_unreached_total',
  help: 'Requests that failed while the database could not be reached.',
};
const QUERY = {
  name: 'gw_dbrest_query_seconds',
  help: 'Time of a statement batch on its connection.',
  scale: 'seconds',
} as const;
const BATCHES = { name: 'gw_dbrest_batches_total', help: 'Statement batches sent to the database.' };
const WRITES = {
  name: 'gw_dbrest_flushes_total',
  help: 'Writes that statement batches were sent with; fewer than batches while requests share connections.',
};
const DEPTH = {
  name: 'gw_dbrest_pipeline_depth',
  help: 'Batches ahead of a request when it was sent on a shared connection.',
  scale: 'counts',
} as const;
const REPEATS = {
  name: 'gw_dbrest_repeats_total',
  help: 'Requests sent again: "lost" with their connection, in "conflict" with others, or "displaced" from a shared connection.',
};
const COST_REFUSALS = {
  name: 'gw_dbrest_cost_refusals_total',
  help: 'Requests that were refused because of "dbrest_max_cost".',
};
const LOAD = {
  name: 'gw_dbrest_schema_cache_load_seconds',
  help: 'Time to read the schema.',
  scale: 'seconds',
} as const;
const LOADS = { name: 'gw_dbrest_schema_cache_loads_total', help: 'Loads of the schema.' };
/** The metrics of one database in one worker. */
export class DatabaseMetrics {
  readonly queries: Histogram;
  readonly timeouts: Counter;
  readonly unreached: Counter;
  /** Batches ahead of a request in a shared session. */
  readonly depth: Histogram;
  readonly repeats: Readonly<Record<'lost' | 'conflict' | 'displaced', Counter>>;
  readonly plans: CacheMetrics;
  readonly costRefusals: Counter;
  readonly #batches: Counter;
  readonly #writes: Counter;
  readonly #loads: Readonly<Record<'success' | 'fail', Counter>>;
  readonly #loadSeconds: Histogram;
  readonly #metrics: Counters;
  readonly #labels: { readonly database: string };

  constructor(metrics: Counters, database: string) {
    this.#metrics = metrics;
    const labels = (this.#labels = { database });
    this.queries = metrics.histogram(QUERY, labels);
    this.timeouts = metrics.counter(TIMEOUTS, labels);
    this.unreached = metrics.counter(UNREACHED, labels);
    this.depth = metrics.histogram(DEPTH, labels);
    this.repeats = {
      lost: metrics.counter(REPEATS, { ...labels, reason: 'lost' }),
      conflict: metrics.counter(REPEATS, { ...labels, reason: 'conflict' }),
      displaced: metrics.counter(REPEATS, { ...labels, reason: 'displaced' }),
    };
    this.plans = cacheMetrics(metrics, { cache: 'plan', things: 'Plans', labels });
    this.costRefusals = metrics.counter(COST_REFUSALS, labels);
    this.#batches = metrics.counter(BATCHES, labels);
    this.#writes = metrics.counter(WRITES, labels);
    this.#loadSeconds = metrics.histogram(LOAD, labels);
    this.#loads = {
      success: metrics.counter(LOADS, { ...labels, status: 'success' }),
      fail: metrics.counter(LOADS, { ...labels, status: 'fail' }),
    };
  }

  /** Counts one write to the server with so many batches. */
  flushed(batches: number): void {
    this.#batches.add(batches);
    this.#writes.add();
  }

  /** Samples a pool until the returned function is called. */
  showPool(level: () => PoolLevel): () => void {
    const show = (metric: typeof MAX, field: keyof PoolLevel): (() => void) =>
      this.#metrics.sample(metric, this.#labels, () => level()[field]);
    const ends = [show(MAX, 'max'), show(AVAILABLE, 'available'), show(WAITING, 'waiting')];
    return () => {
      for (const end of ends) end();
    };
  }

  /** Runs `read`, and counts and times it as a schema load. */
  async load<T>(read: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    try {
      const loaded = await read();
      this.#loads.success.add();
      return loaded;
    } catch (error) {
      this.#loads.fail.add();
      throw error;
    } finally {
      this.#loadSeconds.observe((performance.now() - startedMs) / 1000);
    }
  }
}

/** The metrics of a cache in one worker. */
export interface CacheMetrics {
  readonly requests: Pick<Counter, 'add'>;
  readonly hits: Pick<Counter, 'add'>;
  readonly evictions: Pick<Counter, 'add'>;
}

/** `things`: what the cache keeps, at the beginning of a sentence. */
function cacheMetrics(
  metrics: Counters,
  {
    cache,
    things,
    labels = {},
  }: { cache: string; things: string; labels?: Readonly<Record<string, string>> },
): CacheMetrics {
  const count = (what: string, help: string): Counter =>
    metrics.counter(
      { name: `gw_dbrest_${cache}_cache_${what}_total`, help: `${things} that were ${help}.` },
      labels,
    );
  return {
    requests: count('requests', 'looked up'),
    hits: count('hits', 'found in the cache'),
    evictions: count('evictions', 'evicted from the cache'),
  };
}

export function tokenMetrics(metrics: Counters): CacheMetrics {
  return cacheMetrics(metrics, { cache: 'jwt', things: 'Tokens' });
}
