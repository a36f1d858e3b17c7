import type { WorkerScope } from '../../../contract/index.ts';
import { VERSION } from '../../../version.ts';
import type { MetricFamily } from '../../../zone/index.ts';
import type { Overview, PlaceLoad } from './contract.ts';
import type { History } from './history.ts';
import { commandLoads, databaseLoads, ringLoads, workerLoads } from './loads.ts';
import { requestsOf, samplesOf, tallyOf, valueOf } from './tally.ts';
import type { PlaceTally } from './tally.ts';

const RECENT_MS = 60_000;

/** What the overview shows, from the counters of all workers. */
export function compileOverview(worker: WorkerScope, history: History): (sinceMs: number) => Overview {
  return (sinceMs) => {
    const families = worker.metrics.read();
    const { upstreams } = worker.view;
    const places = placeLoads(families, history);
    return {
      nowMs: Date.now(),
      gateway: {
        version: VERSION,
        node: process.versions.node,
        pid: process.pid,
        startedMs: valueOf(families, 'process_start_time_seconds') * 1000,
        draining: worker.draining || worker.retiring.aborted,
        residentBytes: process.memoryUsage.rss(),
        cpuSeconds: valueOf(families, 'process_cpu_seconds_total'),
      },
      configuration: {
        generation: worker.generation,
        isNewest: valueOf(families, 'gw_config_last_reload_successful') === 1,
        loadedMs: valueOf(families, 'gw_config_last_reload_success_timestamp_seconds') * 1000,
        findings: findingsOf(families),
      },
      moments: history.momentsAfter(sinceMs),
      bounds: samplesOf(families, 'gw_http_request_duration_seconds')[0]?.bounds ?? [],
      places,
      workers: workerLoads(families),
      databases: databaseLoads(families),
      stores: commandLoads(families),
      rings: ringLoads(families),
      upstreams,
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

function placeLoads(families: readonly MetricFamily[], history: History): readonly PlaceLoad[] {
  const nowMs = Date.now();
  const base =
    history.tallies.find(({ atMs }) => atMs >= nowMs - RECENT_MS - 5_000) ?? history.tallies.at(-1);
  const seconds = base ? Math.max((nowMs - base.atMs) / 1000, 1) : 1;
  return [...tallyOf(families)].map(([key, place]) => {
    const lastHitMs = history.lastHit(key);
    const { codes, buckets } = since(place, base?.tally.get(key));
    return {
      server: place.server,
      location: place.location,
      requests: requestsOf(place),
      bytes: place.bytes,
      codes: Object.fromEntries(place.codes),
      tens: tensOf(key, history),
      recent: { seconds, requests: requestsOf({ codes }), codes: Object.fromEntries(codes), buckets },
      ...(lastHitMs !== undefined && { lastHitMs }),
    };
  });
}

function since(
  { codes, buckets }: PlaceTally,
  before: PlaceTally | undefined,
): Pick<PlaceTally, 'codes' | 'buckets'> {
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
    const place = tally.get(key);
    return place ? requestsOf(place) : 0;
  });
  return totals.slice(1).map((total, index) => total - (totals[index] as number));
}
