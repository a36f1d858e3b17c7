import { setTimeout as delay } from 'node:timers/promises';
import { duration } from '../terminal.ts';
import {
  askOrders,
  certificateHints,
  certificateRows,
  certificatesOf,
  type CertificateStatus,
  type OrderedCertificate,
} from './certificate-status.ts';
import { callControl, type ControlOptions, type ControlTarget, fail, findControl } from './control-client.ts';
import { MetricSamples, readMetrics } from './metrics-text.ts';

/** The status of a running gateway; the fields of `--json`. */
interface Status {
  readonly version: string;
  /** The version of the supervisor, which an upgrade does not replace. */
  readonly supervisor?: string;
  readonly node: string;
  readonly uptimeSeconds: number;
  readonly lastReload: { readonly successful: boolean; readonly succeededAt: string };
  readonly workers: readonly WorkerStatus[];
  readonly connections: Readonly<Record<'active' | 'writing' | 'waiting' | 'accepted', number>>;
  readonly requests: { readonly total: number; readonly perSecond: number };
  readonly locations: readonly LocationStatus[];
  readonly pools: readonly PoolStatus[];
  readonly upstreams: readonly PeerStatus[];
  readonly quotas: readonly QuotaStatus[];
  readonly issuers: readonly IssuerStatus[];
  readonly certificates: readonly CertificateStatus[];
  readonly flags: Readonly<Record<string, boolean>>;
}

interface WorkerStatus {
  readonly id: string;
  readonly heapBytes: number;
  readonly lagSeconds: number;
  readonly restarts: number;
}

/** Requests of one location, in total and by class of status. */
interface LocationStatus {
  readonly server: string;
  readonly location: string;
  readonly requests: number;
  readonly classes: Readonly<Record<string, number>>;
  readonly meanSeconds: number;
}

interface PoolStatus {
  readonly database: string;
  readonly max: number;
  readonly available: number;
  readonly waiting: number;
  readonly timeouts: number;
  /** Requests that failed while the database could not be reached. */
  readonly unreached: number;
}

/** One peer of an upstream. */
interface PeerStatus {
  readonly upstream: string;
  readonly peer: string;
  /** False: it is down, left alone after failures, or the last requests all failed. */
  readonly up: boolean;
  readonly requests: number;
  readonly failures: number;
}

/** Requests of one quota zone, of all keys together. */
interface QuotaStatus {
  readonly zone: string;
  readonly passed: number;
  readonly refused: number;
  readonly failed: number;
}

/** The keys of an issuer of tokens. */
interface IssuerStatus {
  readonly issuer: string;
  /** Absent: they have never been fetched. */
  readonly keysAgeSeconds?: number;
}

/** An earlier count of requests with its time, for the rate since then. */
interface Earlier {
  readonly atMs: number;
  readonly requests: number;
}

/** What a gateway has responded. */
interface Responses {
  /** The metrics text. */
  readonly metrics: string;
  readonly ordered: readonly OrderedCertificate[];
}

/** Reads the status. Without an earlier one the rate is the average since the start. */
function readStatus({ metrics, ordered }: Responses, nowMs: number, earlier?: Earlier): Status {
  const readings = new MetricSamples(readMetrics(metrics));
  const uptimeSeconds = nowMs / 1000 - readings.value('process_start_time_seconds');
  const total = readings.value('nginx_http_requests_total');
  const build = readings.all('gw_build_info')[0]?.labels ?? {};
  const supervisor = readings.all('gw_supervisor_info')[0]?.labels['version'];
  const spanSeconds = earlier ? (nowMs - earlier.atMs) / 1000 : uptimeSeconds;
  return {
    version: build['version'] ?? '',
    ...(supervisor !== undefined && { supervisor }),
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
    upstreams: peersOf(readings),
    quotas: quotasOf(readings),
    issuers: readings.all('gw_jwks_age_seconds').map(({ labels, value }) => ({
      issuer: labels['issuer'] ?? '',
      ...(Number.isFinite(value) && { keysAgeSeconds: value }),
    })),
    certificates: certificatesOf(readings, ordered, nowMs),
    flags: Object.fromEntries(
      readings.all('gw_flag').map(({ labels, value }) => [labels['name'] ?? '', value === 1]),
    ),
  };
}

function workersOf(readings: MetricSamples): readonly WorkerStatus[] {
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

function locationsOf(readings: MetricSamples): readonly LocationStatus[] {
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

function poolsOf(readings: MetricSamples): readonly PoolStatus[] {
  return readings.all('gw_dbrest_pool_max').map(({ labels, value: max }) => ({
    database: labels['database'] ?? '',
    max,
    available: readings.value('gw_dbrest_pool_available', labels),
    waiting: readings.value('gw_dbrest_pool_waiting', labels),
    timeouts: readings.value('gw_dbrest_pool_timeouts_total', labels),
    unreached: readings.value('gw_dbrest_unreached_total', labels),
  }));
}

function peersOf(readings: MetricSamples): readonly PeerStatus[] {
  return readings.all('gw_upstream_peer_up').map(({ labels, value }) => ({
    upstream: labels['upstream'] ?? '',
    peer: labels['peer'] ?? '',
    up: value === 1,
    requests: readings.value('gw_upstream_requests_total', labels),
    failures: readings.value('gw_upstream_failures_total', labels),
  }));
}

function quotasOf(readings: MetricSamples): readonly QuotaStatus[] {
  const counts = readings.all('gw_quota_total');
  const zones = [...new Set(counts.map(({ labels }) => labels['zone'] ?? ''))].toSorted();
  const of = (zone: string, result: string): number => readings.value('gw_quota_total', { zone, result });
  return zones.map((zone) => ({
    zone,
    passed: of(zone, 'passed'),
    refused: of(zone, 'refused'),
    failed: of(zone, 'failed'),
  }));
}

function statusText(status: Status): string {
  const { connections, requests, lastReload, workers, locations } = status;
  const { version, supervisor = version } = status;
  const older = supervisor === version ? '' : ` · supervisor ${supervisor} until the next start`;
  const lines = [
    `gw ${version}${older} · node ${status.node} · up ${duration(status.uptimeSeconds)}`,
    `configuration  loaded ${lastReload.succeededAt}${lastReload.successful ? '' : ', a later reload was refused'}`,
    `connections    ${connections.active} active, ${connections.writing} writing, ${connections.waiting} waiting, ${connections.accepted} accepted in all`,
    `requests       ${requests.total} in all, ${requests.perSecond.toFixed(1)} per second`,
    ...table('workers', [
      ['WORKER', 'HEAP', 'LAG', 'RESTARTS'],
      ...workers.map(({ id, heapBytes, lagSeconds, restarts }) => [
        id,
        `${(heapBytes / 1_048_576).toFixed(1)} MB`,
        milliseconds(lagSeconds),
        String(restarts),
      ]),
    ]),
    ...table('locations', [
      ['SERVER', 'LOCATION', 'REQUESTS', '2xx', '3xx', '4xx', '5xx', 'MEAN'],
      ...locations.map(locationCells),
    ]),
    ...partTables(status),
    ...table('flags', [
      ['FLAG', 'STATE'],
      ...Object.entries(status.flags).map(([name, on]) => [name, on ? 'on' : 'off']),
    ]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/** What the gateway depends on and what it limits. */
function partTables({ pools, upstreams, quotas, issuers, certificates }: Status): readonly string[] {
  return [
    ...table('pools', [
      ['DATABASE', 'MAX', 'AVAILABLE', 'WAITING', 'TIMEOUTS', 'UNREACHED'],
      ...pools.map(({ database, max, available, waiting, timeouts, unreached }) =>
        [database, max, available, waiting, timeouts, unreached].map(String),
      ),
    ]),
    ...table('upstreams', [
      ['UPSTREAM', 'PEER', 'UP', 'REQUESTS', 'FAILURES'],
      ...upstreams.map(({ upstream, peer, up, requests, failures }) => [
        upstream,
        peer,
        up ? 'yes' : 'no',
        String(requests),
        String(failures),
      ]),
    ]),
    ...table('quotas', [
      ['QUOTA', 'PASSED', 'REFUSED', 'FAILED'],
      ...quotas.map(({ zone, passed, refused, failed }) => [zone, passed, refused, failed].map(String)),
    ]),
    ...table('issuers', [
      ['ISSUER', 'KEYS OF'],
      ...issuers.map(({ issuer, keysAgeSeconds: age }) => [
        issuer,
        age === undefined ? 'never' : `${Math.round(age)} s ago`,
      ]),
    ]),
    ...table('certificates', certificateRows(certificates)),
    ...certificateHints(certificates).map((hint) => `  ${hint}`),
  ];
}

function locationCells({ server, location, requests, classes, meanSeconds }: LocationStatus): string[] {
  const byClass = ['2xx', '3xx', '4xx', '5xx'].map((key) => String(classes[key] ?? 0));
  return [server, location || '-', String(requests), ...byClass, milliseconds(meanSeconds)];
}

/** Returns a table with aligned columns; empty if there are no rows below the heading. */
function table(title: string, rows: readonly (readonly string[])[]): string[] {
  if (rows.length < 2) return [];
  const widths = (rows[0] as readonly string[]).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return ['', title, ...lines.map((line) => `  ${line.trimEnd()}`)];
}

function milliseconds(seconds: number): string {
  return `${(seconds * 1000).toFixed(1)} ms`;
}

/** Options of `gw status`. */
export interface StatusOptions extends ControlOptions {
  readonly json?: boolean;
  readonly watch?: boolean;
}

const WATCH_EVERY_MS = 2_000;
const CLEAR_SCREEN = '\u001b[H\u001b[2J';

/** `gw status`: prints the status once, or repeatedly until a signal ends it. Exit code 1: there is no response. */
export async function status({ json, watch, ...options }: StatusOptions): Promise<number> {
  const target = findControl('metrics', options);
  if (typeof target === 'string') return fail(target);
  const orders = findControl('certificates', options);
  let earlier: Earlier | undefined;
  for (;;) {
    const atMs = Date.now();
    const found = await ask({ target, orders }, atMs, earlier);
    if (typeof found === 'string') return fail(found);
    if (watch && process.stdout.isTTY) process.stdout.write(CLEAR_SCREEN);
    process.stdout.write(json ? `${JSON.stringify(found)}\n` : statusText(found));
    if (!watch) return 0;
    earlier = { atMs, requests: found.requests.total };
    await delay(WATCH_EVERY_MS);
  }
}

interface Targets {
  readonly target: ControlTarget;
  /** Where orders of certificates are shown; a message: nowhere. */
  readonly orders: ControlTarget | string;
}

async function ask(
  { target, orders }: Targets,
  atMs: number,
  earlier: Earlier | undefined,
): Promise<Status | string> {
  try {
    const response = await callControl(target);
    if (response.status !== 200) return `gw: ${target.url} responds with ${response.status}`;
    return readStatus({ metrics: response.body, ordered: await askOrders(orders) }, atMs, earlier);
  } catch (error) {
    return `gw: ${(error as Error).message}`;
  }
}
