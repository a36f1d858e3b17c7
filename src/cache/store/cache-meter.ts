import type { CacheIndex, Counter, Counters, Histogram } from '../../zone/index.ts';

const REQUESTS = { name: 'gw_cache_requests_total', help: 'Requests by what the cache had for them.' };
const EVICTIONS = {
  name: 'gw_cache_evictions_total',
  help: 'Stored responses that left to make room, or unused.',
};
const PURGED = { name: 'gw_cache_purged_total', help: 'Stored responses that were purged.' };
const FAULTS = { name: 'gw_cache_faults_total', help: 'Faults of the disk and damaged files.' };
const NOT_STORED = {
  name: 'gw_cache_not_stored_total',
  help: 'Responses that were not stored, by the reason.',
};
const LOCK_WAIT = {
  name: 'gw_cache_lock_wait_seconds',
  help: 'Time that requests waited for a response that another one fetched.',
  scale: 'seconds',
} as const;
const BYTES = { name: 'gw_cache_bytes', help: 'Bytes of stored responses on disk.' };
const MAX_BYTES = { name: 'gw_cache_max_bytes', help: 'Limit of these bytes; 0: none.' };
const ENTRIES = { name: 'gw_cache_entries', help: 'Stored responses.' };
const INDEX_FREE = { name: 'gw_cache_index_free_bytes', help: 'Room in the index.' };
const FAILING = {
  name: 'gw_cache_failing_since_timestamp_seconds',
  help: 'When writing to the disk began to fail; 0: it succeeds.',
};
const LOADING = { name: 'gw_cache_loading', help: '1 while the directory is read after a start.' };

/** The reasons why entries are removed before they are replaced. */
export type EvictionReason = 'inactive' | 'size' | 'free' | 'index';

/** The source of a purge, for the metrics. */
export type PurgedBy = 'api' | 'write' | 'notify' | 'cluster';

/** The metrics of one cache in one worker. */
export class CacheMeter {
  readonly lockWait: Histogram;
  readonly #metrics: Counters;
  readonly #zone: string;
  readonly #counters = new Map<string, Counter>();
  readonly #ends: readonly (() => void)[];

  constructor(
    metrics: Counters,
    {
      zone,
      index,
      maxBytes,
    }: { readonly zone: string; readonly index: CacheIndex; readonly maxBytes: number },
  ) {
    const labels = { zone };
    this.#metrics = metrics;
    this.#zone = zone;
    this.lockWait = metrics.histogram(LOCK_WAIT, labels);
    this.#ends = [
      metrics.collect('gauge', { metric: BYTES, labels, read: () => index.facts().bytes }),
      metrics.collect('gauge', { metric: MAX_BYTES, labels, read: () => maxBytes }),
      metrics.collect('gauge', { metric: ENTRIES, labels, read: () => index.facts().entries }),
      metrics.collect('gauge', { metric: INDEX_FREE, labels, read: () => index.facts().freeBytes }),
      metrics.collect('gauge', { metric: FAILING, labels, read: () => index.disk.failingSinceMs / 1_000 }),
      metrics.collect('gauge', { metric: LOADING, labels, read: () => Number(!index.isLoaded) }),
    ];
  }

  request(status: string): void {
    this.#counter(REQUESTS, { status }).add();
  }

  evicted(reason: EvictionReason, count: number): void {
    this.#counter(EVICTIONS, { reason }).add(count);
  }

  purged(by: PurgedBy, count: number): void {
    this.#counter(PURGED, { by }).add(count);
  }

  fault(kind: 'disk' | 'file' | 'head' | 'body'): void {
    this.#counter(FAULTS, { kind }).add();
  }

  notStored(reason: string): void {
    this.#counter(NOT_STORED, { reason }).add();
  }

  close(): void {
    for (const end of this.#ends) end();
  }

  #counter(metric: typeof REQUESTS, label: Readonly<Record<string, string>>): Counter {
    const key = `${metric.name} ${Object.values(label).join()}`;
    const known = this.#counters.get(key);
    if (known) return known;
    const counter = this.#metrics.counter(metric, { zone: this.#zone, ...label });
    this.#counters.set(key, counter);
    return counter;
  }
}
