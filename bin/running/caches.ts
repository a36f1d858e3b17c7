import { reachPurges } from '../../src/tools/lookups.ts';
import { columns, visible } from '../terminal.ts';
import {
  callApi,
  callControl,
  type ControlOptions,
  type ControlTarget,
  fail,
  findControl,
  loadPlan,
  parseAddress,
  targetAt,
  targetOf,
} from './control-client.ts';
import { type MetricSample, readMetrics } from './metrics-text.ts';

/** Options of `gw cache status`. */
export interface CacheOptions extends ControlOptions {
  readonly json?: boolean;
}

/** Options of `gw cache purge`. */
export interface PurgeOptions extends CacheOptions {
  readonly match: Match;
}

/** One cache; the fields of `--json`. */
interface CacheStatus {
  readonly zone: string;
  readonly entries: number;
  readonly bytes: number;
  /** 0: no limit. */
  readonly maxBytes: number;
  readonly indexFreeBytes: number;
  readonly loading: boolean;
  /** Since when writing to the disk has failed (ISO 8601). */
  readonly failingSince: string | null;
  /** Faults of the disk since the start. */
  readonly diskFaults: number;
  readonly requests: number;
  /** The part of the requests that were served without the upstream; 0 to 1. */
  readonly hitRatio: number;
}

/** `gw cache status [ZONE]`. Exit code 1: the gateway did not respond, or has no such cache. */
export async function cacheStatus(
  zone: string | undefined,
  { json, ...options }: CacheOptions,
): Promise<number> {
  const target = findControl('metrics', options);
  if (typeof target === 'string') return fail(target);
  try {
    const { status, body } = await callControl(target);
    if (status !== 200) return fail(`gw: ${target.url} responds with ${status}`);
    const caches = statusOf(readMetrics(body)).filter((cache) => zone === undefined || cache.zone === zone);
    if (zone !== undefined && caches.length === 0) return fail(`gw: there is no cache "${visible(zone)}"`);
    process.stdout.write(json ? `${JSON.stringify(caches)}\n` : tableOf(caches));
    return 0;
  } catch (error) {
    return fail(`gw: ${visible((error as Error).message)}`);
  }
}

/** Statuses of requests that were served from the cache. */
const SERVED: ReadonlySet<string> = new Set(['HIT', 'STALE', 'UPDATING', 'REVALIDATED']);

function statusOf(samples: readonly MetricSample[]): readonly CacheStatus[] {
  const own = samples.filter(({ name }) => name.startsWith('gw_cache_'));
  const zones = own
    .filter(({ name }) => name === 'gw_cache_entries')
    .map(({ labels }) => labels['zone'] ?? '');
  return zones.map((zone) => {
    const of = own.filter(({ labels }) => labels['zone'] === zone);
    const gauge = (name: string): number =>
      of.find((sample) => sample.name === `gw_cache_${name}`)?.value ?? 0;
    const counts = of.filter(({ name }) => name === 'gw_cache_requests_total');
    const sum = (some: readonly MetricSample[]): number =>
      some.reduce((total, { value }) => total + value, 0);
    const requests = sum(counts);
    const faults = of.filter(
      ({ name, labels }) => name === 'gw_cache_faults_total' && labels['kind'] === 'disk',
    );
    const failingSince = gauge('failing_since_timestamp_seconds');
    const served = sum(counts.filter(({ labels }) => SERVED.has(labels['status'] ?? '')));
    return {
      zone,
      entries: gauge('entries'),
      bytes: gauge('bytes'),
      maxBytes: gauge('max_bytes'),
      indexFreeBytes: gauge('index_free_bytes'),
      loading: gauge('loading') === 1,
      failingSince: failingSince === 0 ? null : new Date(failingSince * 1_000).toISOString(),
      diskFaults: sum(faults),
      requests,
      hitRatio: requests === 0 ? 0 : served / requests,
    };
  });
}

function tableOf(caches: readonly CacheStatus[]): string {
  if (caches.length === 0) return 'no caches\n';
  return columns([
    ['ZONE', 'ENTRIES', 'SIZE', 'LIMIT', 'REQUESTS', 'SERVED', 'STATE'],
    ...caches.map((cache) => [
      visible(cache.zone),
      String(cache.entries),
      sizeText(cache.bytes),
      cache.maxBytes === 0 ? '-' : sizeText(cache.maxBytes),
      String(cache.requests),
      cache.requests === 0 ? '-' : `${(cache.hitRatio * 100).toFixed(1)} %`,
      stateOf(cache),
    ]),
  ]);
}

function stateOf({ loading, failingSince, diskFaults }: CacheStatus): string {
  if (failingSince === null) return loading ? 'loading' : 'ready';
  const faults = diskFaults === 1 ? '1 fault' : `${diskFaults} faults`;
  return `writes fail since ${failingSince.replace(/\.\d+/, '')} (${faults})`;
}

function sizeText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

type Match = 'exact' | 'prefix' | 'tag';

/** `gw cache purge ZONE TARGET...`. Exit code 1: the gateway refused, or did not respond. */
export async function purgeCache(
  zone: string,
  targets: readonly string[],
  { json, match, ...options }: PurgeOptions,
): Promise<number> {
  const target = findPurge({ zone, match }, options);
  if (typeof target === 'string') return fail(target);
  try {
    const body = await callApi(target, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ targets }),
    });
    const { results } = JSON.parse(body) as { results: { target: string; purged: number }[] };
    const lines = results.map(({ target: text, purged }) => `${purged} removed: ${visible(text)}\n`);
    process.stdout.write(json ? `${body}\n` : lines.join(''));
    return 0;
  } catch (error) {
    return fail(`gw: ${visible((error as Error).message)}`);
  }
}

/** Returns the API for a cache and a way of matching, or a message if no location has it. */
function findPurge(
  { zone, match }: { readonly zone: string; readonly match: Match },
  { address, ...options }: ControlOptions,
): ControlTarget | string {
  if (address !== undefined) {
    const base = parseAddress(address);
    if (base && base.pathname !== '/') return targetOf(base, base.pathname);
    return `gw: invalid address "${address}"\n  expected the API that purges, such as http://host:port/purge`;
  }
  const loaded = loadPlan(options);
  if (typeof loaded === 'string') return loaded;
  const found = reachPurges(loaded.plan).filter((purge) => purge.zone === zone);
  const fitting = found.find((purge) => purge.match === match);
  if (fitting) return targetAt(fitting.reach);
  const conf = `location = /purge { cache_purge_api; cache_purge_zone ${zone}; cache_purge_match ${match}; }`;
  return (
    loaded.refusal ??
    `gw: no location of ${loaded.name} purges cache "${zone}" by ${NOUNS[match]}\n  add "${conf}", or name one with --address`
  );
}

const NOUNS: Readonly<Record<Match, string>> = { exact: 'key', prefix: 'prefix', tag: 'tag' };
