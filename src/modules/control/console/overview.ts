import type { WorkerScope } from '../../../contract/index.ts';
import { VERSION } from '../../../version.ts';
import type { MetricFamily, MetricSample } from '../../../zone/index.ts';
import type { CommandLoad, DatabaseLoad, Overview, LocationLoad, WorkerLoad } from './contract.ts';
import { failingLocations } from './failing.ts';
import type { QuotaLoad } from './part-loads.ts';
import { type Range, SHORTEST_RANGE } from './ranges.ts';
import type { Sample } from './timeline.ts';
import { type History, type LocationTally, requestsOf, samplesOf, tallyOf, valueOf } from './history.ts';

/** Metrics by one of their labels: values, and the buckets of histograms. */
class ByLabel {
  readonly #label: string;
  readonly #families: readonly MetricFamily[];

  constructor(label: string, families: readonly MetricFamily[]) {
    this.#label = label;
    this.#families = families;
  }

  /** Returns all values of the label in a metric, in natural order. */
  names(metric: string): readonly string[] {
    const names = samplesOf(this.#families, metric).flatMap(({ labels }) => labels[this.#label] ?? []);
    return [...new Set(names)].toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  }

  /** Returns the sum of all samples with this value of the label. */
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

function workerLoads(families: readonly MetricFamily[]): readonly WorkerLoad[] {
  const by = new ByLabel('worker', families);
  return by.names('gw_worker_heap_bytes').map((id) => ({
    id,
    lagMs: by.value('gw_worker_eventloop_lag_seconds', id) * 1000,
    heapBytes: by.value('gw_worker_heap_bytes', id),
    restarts: by.value('gw_worker_restarts_total', id),
  }));
}

function databaseLoads(families: readonly MetricFamily[]): readonly DatabaseLoad[] {
  const by = new ByLabel('database', families);
  return by.names('gw_dbrest_pool_max').map((name) => {
    const buckets = by.buckets('gw_dbrest_query_seconds', name);
    return {
      name,
      max: by.value('gw_dbrest_pool_max', name),
      available: by.value('gw_dbrest_pool_available', name),
      waiting: by.value('gw_dbrest_pool_waiting', name),
      timeouts: by.value('gw_dbrest_pool_timeouts_total', name),
      unreached: by.value('gw_dbrest_unreached_total', name),
      queries: buckets.reduce((sum, count) => sum + count, 0),
      buckets,
    };
  });
}

function commandLoads(families: readonly MetricFamily[]): readonly CommandLoad[] {
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

function ringLoads(families: readonly MetricFamily[]): Overview['rings'] {
  const by = new ByLabel('zone', families);
  return by.names('gw_events_published_total').map((name) => ({
    name,
    published: by.value('gw_events_published_total', name),
    dropped: by.value('gw_events_dropped_total', name),
  }));
}

function quotaLoads(families: readonly MetricFamily[]): readonly QuotaLoad[] {
  const counts = samplesOf(families, 'gw_quota_total');
  return new ByLabel('zone', families).names('gw_quota_total').map((name) => {
    const of = (result: string): number =>
      counts
        .filter(({ labels }) => labels['zone'] === name && labels['result'] === result)
        .reduce((sum, { value }) => sum + value, 0);
    return { name, passed: of('passed'), refused: of('refused'), failed: of('failed') };
  });
}

function issuerKeys(families: readonly MetricFamily[]): Overview['issuers'] {
  return samplesOf(families, 'gw_jwks_age_seconds').map(({ labels, value }) => ({
    name: labels['issuer'] ?? '',
    keysAgeMs: Number.isFinite(value) ? value * 1_000 : null,
  }));
}

function certificateStates({ certificates }: WorkerScope): Overview['certificates'] {
  return certificates
    .toSorted((a, b) => (a.notAfterMs ?? 0) - (b.notAfterMs ?? 0))
    .slice(0, MOST_CERTIFICATES);
}

/** Certificates that a page shows. */
const MOST_CERTIFICATES = 200;

const RECENT_MS = 60_000;

/** Failing locations that a page shows. */
const MOST_FAILING = 20;

/** The moments that a page wants. */
export interface OverviewQuery {
  readonly range: Range;
  /** Only later ones. */
  readonly sinceMs: number;
}

/** Returns the history of the gateway for the overview. */
function historyOf(
  { timelines }: History,
  { range, sinceMs, nowMs }: OverviewQuery & { readonly nowMs: number },
): Pick<Overview, 'moments' | 'latest' | 'failing'> {
  const after = (from: Range, ms: number): Overview['moments'] =>
    timelines
      .samplesOf(from)
      .filter(({ atMs }) => atMs > ms)
      .map(momentOf);
  return {
    moments: after(range, sinceMs),
    latest: after(SHORTEST_RANGE, nowMs - RECENT_MS),
    failing: failingLocations(timelines.all(), { seconds: range.seconds, nowMs }).slice(0, MOST_FAILING),
  };
}

function momentOf({ atMs, classes, buckets, bytes, connections }: Sample): Overview['moments'][number] {
  return { atMs, classes, buckets, bytes, connections };
}

/** Compiles the overview, from the counters of all workers. */
export function compileOverview(worker: WorkerScope, history: History): (query: OverviewQuery) => Overview {
  return (query) => {
    const nowMs = Date.now();
    const families = worker.metrics.read();
    const { upstreams } = worker.view;
    const locations = locationLoads(families, history);
    return {
      nowMs,
      gateway: {
        version: VERSION,
        node: process.versions.node,
        pid: process.pid,
        startedMs: valueOf(families, 'process_start_time_seconds') * 1000,
        draining: worker.draining,
        residentBytes: process.memoryUsage.rss(),
        cpuSeconds: valueOf(families, 'process_cpu_seconds_total'),
      },
      configuration: {
        generation: worker.generation,
        isNewest: valueOf(families, 'gw_config_last_reload_successful') === 1,
        loadedMs: valueOf(families, 'gw_config_last_reload_success_timestamp_seconds') * 1000,
        findings: findingsOf(families),
      },
      ...historyOf(history, { ...query, nowMs }),
      bounds: samplesOf(families, 'gw_http_request_duration_seconds')[0]?.bounds ?? [],
      locations: locations,
      workers: workerLoads(families),
      databases: databaseLoads(families),
      stores: commandLoads(families),
      rings: ringLoads(families),
      quotas: quotaLoads(families),
      issuers: issuerKeys(families),
      certificates: certificateStates(worker),
      upstreams,
      hasClusters: worker.clusters.size > 0,
    };
  };
}

function findingsOf(families: readonly MetricFamily[]): Overview['configuration']['findings'] {
  const counts = new Map(
    samplesOf(families, 'gw_check_findings').map(({ labels, value }) => [labels['severity'], value]),
  );
  const of = (severity: string): number => counts.get(severity) ?? 0;
  return { emerg: of('emerg'), warn: of('warn'), notice: of('notice') };
}

function locationLoads(families: readonly MetricFamily[], history: History): readonly LocationLoad[] {
  const nowMs = Date.now();
  const base =
    history.tallies.find(({ atMs }) => atMs >= nowMs - RECENT_MS - 5_000) ?? history.tallies.at(-1);
  const seconds = base ? Math.max((nowMs - base.atMs) / 1000, 1) : 1;
  return [...tallyOf(families)].map(([key, tally]) => {
    const lastHitMs = history.lastHit(key);
    const { codes, buckets } = since(tally, base?.tally.get(key));
    return {
      server: tally.server,
      location: tally.location,
      requests: requestsOf(tally),
      bytes: tally.bytes,
      codes: Object.fromEntries(tally.codes),
      tens: tensOf(key, history),
      recent: { seconds, requests: requestsOf({ codes }), codes: Object.fromEntries(codes), buckets },
      ...(lastHitMs !== undefined && { lastHitMs }),
    };
  });
}

function since(
  { codes, buckets }: LocationTally,
  before: LocationTally | undefined,
): Pick<LocationTally, 'codes' | 'buckets'> {
  if (!before) return { codes, buckets };
  const added = [...codes]
    .map(([code, count]) => [code, count - (before.codes.get(code) ?? 0)] as const)
    .filter(([, count]) => count > 0);
  return {
    codes: new Map(added),
    buckets: buckets.map((count, index) => count - (before.buckets[index] ?? 0)),
  };
}

function tensOf(key: string, { tallies }: History): readonly number[] {
  const totals = tallies.map(({ tally }) => {
    const counted = tally.get(key);
    return counted ? requestsOf(counted) : 0;
  });
  return totals.slice(1).map((total, index) => total - (totals[index] as number));
}
