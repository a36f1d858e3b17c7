import type { MetricFamily, MetricSample } from '../../../zone/index.ts';
import type { CommandLoad, DatabaseLoad, Overview, WorkerLoad } from './contract.ts';
import { samplesOf } from './tally.ts';

/** By one label of their samples: each metric's value, and a histogram's buckets. */
class ByLabel {
  readonly #label: string;
  readonly #families: readonly MetricFamily[];

  constructor(label: string, families: readonly MetricFamily[]) {
    this.#label = label;
    this.#families = families;
  }

  /** Every value of the label in a metric, in a natural order. */
  names(metric: string): readonly string[] {
    const names = samplesOf(this.#families, metric).flatMap(({ labels }) => labels[this.#label] ?? []);
    return [...new Set(names)].toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  }

  /** The sum of all samples with this label. */
  value(metric: string, name: string): number {
    return this.#of(metric, name).reduce((sum, { value }) => sum + value, 0);
  }

  buckets(metric: string, name: string): readonly number[] {
    return this.#of(metric, name)[0]?.buckets ?? [];
  }

  #of(metric: string, name: string): readonly MetricSample[] {
    return samplesOf(this.#families, metric).filter(({ labels }) => labels[this.#label] === name);
  }
}

export function workerLoads(families: readonly MetricFamily[]): readonly WorkerLoad[] {
  const by = new ByLabel('worker', families);
  return by.names('gw_worker_heap_bytes').map((id) => ({
    id,
    lagMs: by.value('gw_worker_eventloop_lag_seconds', id) * 1000,
    heapBytes: by.value('gw_worker_heap_bytes', id),
    restarts: by.value('gw_worker_restarts_total', id),
  }));
}

export function databaseLoads(families: readonly MetricFamily[]): readonly DatabaseLoad[] {
  const by = new ByLabel('database', families);
  return by.names('gw_dbrest_pool_max').map((name) => {
    const buckets = by.buckets('gw_dbrest_query_seconds', name);
    return {
      name,
      max: by.value('gw_dbrest_pool_max', name),
      available: by.value('gw_dbrest_pool_available', name),
      waiting: by.value('gw_dbrest_pool_waiting', name),
      timeouts: by.value('gw_dbrest_pool_timeouts_total', name),
      queries: buckets.reduce((sum, count) => sum + count, 0),
      buckets,
    };
  });
}

export function commandLoads(families: readonly MetricFamily[]): readonly CommandLoad[] {
  const by = new ByLabel('command', families);
  return by.names('gw_kv_commands_total').map((command) => ({
    command,
    sent: by.value('gw_kv_commands_total', command),
    errors: by.value('gw_kv_errors_total', command),
    hits: by.value('gw_kv_hits_total', command),
    misses: by.value('gw_kv_misses_total', command),
    buckets: by.buckets('gw_kv_command_seconds', command),
  }));
}

export function ringLoads(families: readonly MetricFamily[]): Overview['rings'] {
  const by = new ByLabel('zone', families);
  return by.names('gw_events_published_total').map((name) => ({
    name,
    published: by.value('gw_events_published_total', name),
    dropped: by.value('gw_events_dropped_total', name),
  }));
}
