import { readMetrics } from './metrics-text.ts';
import type { Reading } from './metrics-text.ts';

/** What `gw status` tells of a running gateway; the fields of `--json`. */
export interface Status {
  readonly version: string;
  readonly node: string;
  readonly uptimeSeconds: number;
  readonly lastReload: { readonly successful: boolean; readonly succeededAt: string };
  readonly workers: readonly WorkerStatus[];
  readonly connections: Readonly<Record<'active' | 'writing' | 'waiting' | 'accepted', number>>;
  readonly requests: { readonly total: number; readonly perSecond: number };
  readonly locations: readonly LocationStatus[];
  readonly pools: readonly PoolStatus[];
  readonly flags: Readonly<Record<string, boolean>>;
}

export interface WorkerStatus {
  readonly id: string;
  readonly heapBytes: number;
  readonly lagSeconds: number;
  readonly restarts: number;
}

/** Requests of one location, and how many of them were answered with 2xx, 3xx … */
export interface LocationStatus {
  readonly server: string;
  readonly location: string;
  readonly requests: number;
  readonly classes: Readonly<Record<string, number>>;
  readonly meanSeconds: number;
}

export interface PoolStatus {
  readonly database: string;
  readonly max: number;
  readonly available: number;
  readonly waiting: number;
  readonly timeouts: number;
}

/** When an earlier status was taken, for rates since then. */
export interface Earlier {
  readonly atMs: number;
  readonly requests: number;
}

/** Reads a metrics text. Without an earlier status the rate is that since the start. */
export function readStatus(text: string, nowMs: number, earlier?: Earlier): Status {
  const readings = new Readings(readMetrics(text));
  const uptimeSeconds = nowMs / 1000 - readings.value('process_start_time_seconds');
  const total = readings.value('nginx_http_requests_total');
  const build = readings.all('gw_build_info')[0]?.labels ?? {};
  const spanSeconds = earlier ? (nowMs - earlier.atMs) / 1000 : uptimeSeconds;
  return {
    version: build['version'] ?? '',
    node: build['node'] ?? '',
    uptimeSeconds: Math.max(0, Math.round(uptimeSeconds)),
    lastReload: {
      successful: readings.value('gw_config_last_reload_successful') === 1,
      succeededAt: new Date(
        readings.value('gw_config_last_reload_success_timestamp_seconds') * 1000,
      ).toISOString(),
    },
    workers: workersOf(readings),
    connections: {
      active: readings.value('nginx_connections_active'),
      writing: readings.value('nginx_connections_writing'),
      waiting: readings.value('nginx_connections_waiting'),
      accepted: readings.value('nginx_connections_accepted'),
    },
    requests: { total, perSecond: spanSeconds > 0 ? (total - (earlier?.requests ?? 0)) / spanSeconds : 0 },
    locations: locationsOf(readings),
    pools: poolsOf(readings),
    flags: Object.fromEntries(
      readings.all('gw_flag').map(({ labels, value }) => [labels['name'] ?? '', value === 1]),
    ),
  };
}

class Readings {
  readonly #byName = new Map<string, Reading[]>();

  constructor(readings: readonly Reading[]) {
    for (const reading of readings) {
      const others = this.#byName.get(reading.name) ?? [];
      this.#byName.set(reading.name, [...others, reading]);
    }
  }

  all(name: string): readonly Reading[] {
    return this.#byName.get(name) ?? [];
  }

  /** Of the series with these labels; 0 when there is none. */
  value(name: string, labels: Reading['labels'] = {}): number {
    const wanted = Object.entries(labels);
    return (
      this.all(name).find((reading) => wanted.every(([key, text]) => reading.labels[key] === text))?.value ??
      0
    );
  }
}

function workersOf(readings: Readings): readonly WorkerStatus[] {
  return readings
    .all('gw_worker_heap_bytes')
    .map(({ labels, value }) => ({
      id: labels['worker'] ?? '',
      heapBytes: value,
      lagSeconds: readings.value('gw_worker_eventloop_lag_seconds', labels),
      restarts: readings.value('gw_worker_restarts_total', labels),
    }))
    .toSorted((a, b) => Number(a.id) - Number(b.id));
}

function locationsOf(readings: Readings): readonly LocationStatus[] {
  return readings
    .all('gw_http_request_duration_seconds_count')
    .map(({ labels, value: requests }) => {
      const { server = '', location = '' } = labels;
      const classes: Record<string, number> = {};
      for (const reading of readings.all('gw_http_requests_total')) {
        if (reading.labels['server'] !== server || reading.labels['location'] !== location) continue;
        const key = `${reading.labels['code']?.[0] ?? '?'}xx`;
        classes[key] = (classes[key] ?? 0) + reading.value;
      }
      const sum = readings.value('gw_http_request_duration_seconds_sum', labels);
      return { server, location, requests, classes, meanSeconds: requests === 0 ? 0 : sum / requests };
    })
    .toSorted((a, b) => b.requests - a.requests);
}

function poolsOf(readings: Readings): readonly PoolStatus[] {
  return readings.all('gw_dbrest_pool_max').map(({ labels, value: max }) => ({
    database: labels['database'] ?? '',
    max,
    available: readings.value('gw_dbrest_pool_available', labels),
    waiting: readings.value('gw_dbrest_pool_waiting', labels),
    timeouts: readings.value('gw_dbrest_pool_timeouts_total', labels),
  }));
}
