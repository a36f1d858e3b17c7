import type { MetricSample, MetricSamples } from '../metrics-text.ts';
import { type StatementFacts, type StatementSamples, statementsBetween } from './statements.ts';

/** Quantiles of times in seconds; absent without a request in the interval. */
interface Times {
  readonly p50?: number;
  readonly p95?: number;
  readonly p99?: number;
}

/** Requests of one location in the interval. */
export interface LocationFacts extends Times {
  readonly server: string;
  readonly location: string;
  readonly perSecond: number;
  /** Responses with 400 to 499, and with 500 or more. */
  readonly clientErrorsPerSecond: number;
  readonly serverErrorsPerSecond: number;
}

export interface WorkerFacts {
  readonly id: string;
  readonly lagSeconds: number;
  readonly heapBytes: number;
  /** Part of a core; absent where the kernel does not tell. */
  readonly cpu?: number;
  readonly restarts: number;
}

/** A database with its pool, or a command of key-value stores. */
export interface StoreFacts extends Times {
  readonly name: string;
  readonly perSecond: number;
  readonly failuresPerSecond: number;
  readonly pool?: { readonly max: number; readonly available: number; readonly waiting: number };
}

export interface PeerFacts extends Times {
  readonly upstream: string;
  readonly peer: string;
  /** Absent: it belongs to no group that gw watches. */
  readonly up?: boolean;
  readonly perSecond: number;
  readonly failuresPerSecond: number;
}

export interface CacheFacts {
  readonly zone: string;
  readonly perSecond: number;
  /** Part of the requests that were served from the cache; absent without requests. */
  readonly hits?: number;
  readonly entries: number;
  readonly bytes: number;
  /** 0: no limit. */
  readonly maxBytes: number;
}

/** What a gateway did between two readings of its metrics; the fields of `--json`. */
export interface TopFacts {
  readonly version: string;
  readonly uptimeSeconds: number;
  /** The time between the readings; all rates are those of this time. */
  readonly intervalSeconds: number;
  readonly requests: Times & { readonly perSecond: number; readonly serverErrorsPerSecond: number };
  readonly connections: { readonly active: number; readonly writing: number };
  readonly process: {
    readonly residentBytes: number;
    readonly cpu: number;
    readonly openFiles: number;
    readonly mostOpenFiles: number;
  };
  readonly reloadSuccessful: boolean;
  readonly locations: readonly LocationFacts[];
  readonly workers: readonly WorkerFacts[];
  readonly stores: readonly StoreFacts[];
  readonly upstreams: readonly PeerFacts[];
  readonly caches: readonly CacheFacts[];
  /** Those that took the most time; absent where the gateway does not show them. */
  readonly statements?: readonly StatementFacts[];
}

/** A reading of the metrics, and of the statements if they are shown, and its time. */
export interface Reading {
  readonly samples: MetricSamples;
  readonly statements?: StatementSamples | undefined;
  readonly atMs: number;
}

type Labels = MetricSample['labels'];

/** Statuses of `$upstream_cache_status` with which a response came from the cache. */
const SERVED: ReadonlySet<string> = new Set(['HIT', 'STALE', 'UPDATING', 'REVALIDATED']);

/** What happened between two readings. A gateway that was started again in between is read from its start. */
export function factsBetween(earlier: Reading, now: Reading): TopFacts {
  const started = (reading: Reading): number => reading.samples.value('process_start_time_seconds');
  const isSame = started(earlier) === started(now);
  const uptimeSeconds = Math.max(0, now.atMs / 1000 - started(now));
  const seconds = Math.max(0.001, isSame ? (now.atMs - earlier.atMs) / 1000 : uptimeSeconds);
  const before = isSame ? earlier : undefined;
  const { statements } = now;
  return {
    ...new Comparison(before?.samples, now.samples, seconds).facts(uptimeSeconds),
    ...(statements && { statements: statementsBetween(before?.statements, statements, seconds) }),
  };
}

/** Two readings of the same gateway. */
class Comparison {
  readonly #before: MetricSamples | undefined;
  readonly #now: MetricSamples;
  readonly #seconds: number;

  constructor(before: MetricSamples | undefined, now: MetricSamples, seconds: number) {
    this.#before = before;
    this.#now = now;
    this.#seconds = seconds;
  }

  facts(uptimeSeconds: number): TopFacts {
    const now = this.#now;
    return {
      version: now.all('gw_build_info')[0]?.labels['version'] ?? '',
      uptimeSeconds: Math.round(uptimeSeconds),
      intervalSeconds: this.#seconds,
      requests: {
        perSecond: this.#rate('nginx_http_requests_total', {}),
        serverErrorsPerSecond: this.#codes({}, '5'),
        ...this.#times('gw_http_request_duration_seconds', {}),
      },
      connections: {
        active: now.value('nginx_connections_active'),
        writing: now.value('nginx_connections_writing'),
      },
      process: {
        residentBytes: now.value('process_resident_memory_bytes'),
        cpu: this.#rate('process_cpu_seconds_total', {}),
        openFiles: now.value('process_open_fds'),
        mostOpenFiles: now.value('process_max_fds'),
      },
      reloadSuccessful: now.value('gw_config_last_reload_successful') === 1,
      locations: this.#locations(),
      workers: this.#workers(),
      stores: [...this.#databases(), ...this.#commands()],
      upstreams: this.#peers(),
      caches: this.#caches(),
    };
  }

  #locations(): readonly LocationFacts[] {
    const name = 'gw_http_request_duration_seconds';
    return this.#now.all(`${name}_count`).map(({ labels }) => ({
      server: labels['server'] ?? '',
      location: labels['location'] ?? '',
      perSecond: this.#rate(`${name}_count`, labels),
      clientErrorsPerSecond: this.#codes(labels, '4'),
      serverErrorsPerSecond: this.#codes(labels, '5'),
      ...this.#times(name, labels),
    }));
  }

  #workers(): readonly WorkerFacts[] {
    const now = this.#now;
    const byId = now
      .all('gw_worker_heap_bytes')
      .toSorted((one, other) => Number(one.labels['worker']) - Number(other.labels['worker']));
    return byId.map(({ labels, value }) => ({
      id: labels['worker'] ?? '',
      heapBytes: value,
      lagSeconds: now.value('gw_worker_eventloop_lag_seconds', labels),
      restarts: now.value('gw_worker_restarts_total', labels),
      ...(now.all('gw_worker_cpu_seconds_total').length > 0 && {
        cpu: this.#rate('gw_worker_cpu_seconds_total', labels),
      }),
    }));
  }

  #databases(): readonly StoreFacts[] {
    const now = this.#now;
    return now.all('gw_dbrest_pool_max').map(({ labels, value: max }) => ({
      name: `database ${labels['database'] ?? ''}`,
      perSecond: this.#rate('gw_dbrest_query_seconds_count', labels),
      failuresPerSecond:
        this.#rate('gw_dbrest_pool_timeouts_total', labels) + this.#rate('gw_dbrest_unreached_total', labels),
      pool: {
        max,
        available: now.value('gw_dbrest_pool_available', labels),
        waiting: now.value('gw_dbrest_pool_waiting', labels),
      },
      ...this.#times('gw_dbrest_query_seconds', labels),
    }));
  }

  #commands(): readonly StoreFacts[] {
    return this.#now.all('gw_kv_commands_total').map(({ labels }) => ({
      name: `kv ${labels['command'] ?? ''}`,
      perSecond: this.#rate('gw_kv_commands_total', labels),
      failuresPerSecond: this.#rate('gw_kv_errors_total', labels),
      ...this.#times('gw_kv_command_seconds', labels),
    }));
  }

  #peers(): readonly PeerFacts[] {
    return this.#now.all('gw_upstream_requests_total').map(({ labels }) => {
      const [up] = this.#now.matching('gw_upstream_peer_up', labels);
      return {
        upstream: labels['upstream'] ?? '',
        peer: labels['peer'] ?? '',
        ...(up && { up: up.value === 1 }),
        perSecond: this.#rate('gw_upstream_requests_total', labels),
        failuresPerSecond: this.#rate('gw_upstream_failures_total', labels),
        ...this.#times('gw_upstream_response_seconds', labels),
      };
    });
  }

  #caches(): readonly CacheFacts[] {
    const now = this.#now;
    return now.all('gw_cache_entries').map(({ labels, value: entries }) => {
      const all = this.#rate('gw_cache_requests_total', labels);
      const served = this.#rate('gw_cache_requests_total', labels, ({ status = '' }) => SERVED.has(status));
      return {
        zone: labels['zone'] ?? '',
        perSecond: all,
        ...(all > 0 && { hits: served / all }),
        entries,
        bytes: now.value('gw_cache_bytes', labels),
        maxBytes: now.value('gw_cache_max_bytes', labels),
      };
    });
  }

  /** Responses a second whose status begins with a digit. */
  #codes(labels: Labels, digit: string): number {
    return this.#rate('gw_http_requests_total', labels, ({ code = '' }) => code.startsWith(digit));
  }

  /** Increase a second of all series of a counter that have these labels. */
  #rate(name: string, labels: Labels, isMeant: (labels: Labels) => boolean = () => true): number {
    const total = (samples: MetricSamples | undefined): number =>
      (samples?.matching(name, labels) ?? [])
        .filter((sample) => isMeant(sample.labels))
        .reduce((sum, { value }) => sum + value, 0);
    return Math.max(0, total(this.#now) - total(this.#before)) / this.#seconds;
  }

  /** Quantiles of a histogram's new values, over all series that have these labels. */
  #times(name: string, labels: Labels): Times {
    const now = bucketsOf(this.#now, `${name}_bucket`, labels);
    const before = this.#before && bucketsOf(this.#before, `${name}_bucket`, labels);
    const counts = [...now]
      .map(([bound, count]) => [bound, Math.max(0, count - (before?.get(bound) ?? 0))] as const)
      .toSorted(([a], [b]) => a - b);
    if ((counts.at(-1)?.[1] ?? 0) === 0) return {};
    return { p50: quantile(counts, 0.5), p95: quantile(counts, 0.95), p99: quantile(counts, 0.99) };
  }
}

/** Cumulated counts by the upper bounds of their buckets. */
function bucketsOf(samples: MetricSamples, name: string, labels: Labels): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { labels: own, value } of samples.matching(name, labels)) {
    const { le = '' } = own;
    const bound = le === '+Inf' ? Infinity : Number(le);
    counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  return counts;
}

/**
 * Returns a quantile of cumulated counts, by straight lines between the bounds of buckets; beyond the last bound, that
 * bound (as Prometheus' histogram_quantile).
 */
function quantile(counts: readonly (readonly [number, number])[], part: number): number {
  const wanted = part * (counts.at(-1)?.[1] ?? 0);
  let [lower, below] = [0, 0];
  for (const [bound, count] of counts) {
    if (count >= wanted && count > below) {
      if (bound === Infinity) return lower;
      return lower + ((bound - lower) * (wanted - below)) / (count - below);
    }
    [lower, below] = [bound, count];
  }
  return lower;
}
