import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CacheStore, type OtherGateways, type PurgeSharing, sharePurges } from '../../../cache/index.ts';
import type { WorkerScope } from '../../../contract/index.ts';
import { redact } from '../../../log/index.ts';
import type { MetricFamily } from '../../../zone/index.ts';
import { ControlFault } from '../endpoint.ts';
import type { CachePage, CachePurge, CachePurged, CacheState, LargeEntry } from './contract.ts';
import { samplesOf } from './history.ts';

/** Entries by the name of their cache. */
type Largest = ReadonlyMap<string, readonly LargeEntry[]>;

/** Entries that are shown of each cache. */
const MOST_SHOWN = 10;
/** The time for which the largest entries are kept: finding them in a large index takes milliseconds. */
const LARGEST_MS = 10_000;

const MATCHES: ReadonlySet<unknown> = new Set<CachePurge['match']>(['key', 'prefix', 'tag']);

/** The caches of a configuration, as the console shows and purges them. */
export class CacheList {
  readonly #worker: WorkerScope;
  /** The gateways that repeat every purge. */
  readonly #others: OtherGateways | undefined;
  #largest: { readonly atMs: number; readonly found: Promise<Largest> } | undefined;

  constructor(worker: WorkerScope, sharing: PurgeSharing) {
    this.#worker = worker;
    this.#others = sharePurges([...worker.caches.values()], sharing, worker);
  }

  async page(): Promise<CachePage> {
    const { caches, metrics } = this.#worker;
    const largest = await this.#largestEntries();
    const families = metrics.read();
    const shown = [...caches.values()].map((store) => ({
      ...stateOf(store, families),
      largest: largest.get(store.name) ?? [],
    }));
    return { nowMs: Date.now(), caches: shown };
  }

  /** Removes stored responses. Resolves when no worker serves them any more; rejects with a `ControlFault`. */
  async purge(body: unknown): Promise<CachePurged> {
    const { cache, match, text } = readPurge(body);
    const store = this.#worker.caches.get(cache);
    if (!store) throw new ControlFault(404, `no cache "${cache}"`);
    void this.#others?.tell([{ zone: cache, kind: match, texts: [text] }]);
    const purged = await store.purge({ kind: match, text }, 'api');
    this.#largest = undefined;
    return { purged, ...(await this.page()) };
  }

  #largestEntries(): Promise<Largest> {
    const nowMs = Date.now();
    if (this.#largest && nowMs - this.#largest.atMs < LARGEST_MS) return this.#largest.found;
    const found = findLargest([...this.#worker.caches.values()]);
    this.#largest = { atMs: nowMs, found };
    return found;
  }
}

/** Reads a purge. Throws a `ControlFault`, also for an empty text, which would remove everything. */
function readPurge(body: unknown): CachePurge {
  const { cache, match, text } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof cache !== 'string') throw new ControlFault(400, 'expected "cache"');
  if (!MATCHES.has(match)) throw new ControlFault(400, '"match" must be key, prefix or tag');
  if (typeof text !== 'string' || text === '') throw new ControlFault(400, '"text" must not be empty');
  return { cache, match: match as CachePurge['match'], text };
}

async function findLargest(stores: readonly CacheStore[]): Promise<Largest> {
  const found = new Map<string, readonly LargeEntry[]>();
  for (const { name, index } of stores) {
    let largest: readonly LargeEntry[] = [];
    for (let cursor: number | undefined = 1; cursor !== undefined;) {
      const { entries, next } = index.entriesPart(cursor, MOST_SHOWN);
      largest = [...largest, ...entries.map(shownEntry)]
        .toSorted((a, b) => b.sizeBytes - a.sizeBytes)
        .slice(0, MOST_SHOWN);
      cursor = next;
      if (next !== undefined) await nextTurn();
    }
    found.set(name, largest);
  }
  return found;
}

function shownEntry({ key, ...facts }: Omit<LargeEntry, 'isWhole'>): LargeEntry {
  const masked = redact(key);
  return { key: masked, isWhole: masked === key, ...facts };
}

function stateOf(
  { name, index, directory }: CacheStore,
  families: readonly MetricFamily[],
): Omit<CacheState, 'largest'> {
  const counted = (metric: string, label: string): Readonly<Record<string, number>> =>
    countsBy(label, { metric, name, families });
  const total = (metric: string): number =>
    Object.values(counted(metric, 'zone')).reduce((sum, value) => sum + value, 0);
  const { entries, bytes, freeBytes, capacityBytes, isLoaded } = index.facts();
  return {
    name,
    directory: directory.path,
    entries,
    bytes,
    maxBytes: total('gw_cache_max_bytes'),
    indexBytes: capacityBytes,
    indexFreeBytes: freeBytes,
    isLoading: !isLoaded,
    failingSinceMs: index.disk.failingSinceMs,
    requests: counted('gw_cache_requests_total', 'status'),
    evictions: counted('gw_cache_evictions_total', 'reason'),
    notStored: counted('gw_cache_not_stored_total', 'reason'),
    faults: counted('gw_cache_faults_total', 'kind'),
    purged: total('gw_cache_purged_total'),
  };
}

/** Returns the counts of one cache by one of their labels. */
function countsBy(
  label: string,
  {
    metric,
    name,
    families,
  }: { readonly metric: string; readonly name: string; readonly families: readonly MetricFamily[] },
): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { labels, value } of samplesOf(families, metric)) {
    const by = labels[label] ?? '';
    if (labels['zone'] === name) counts[by] = (counts[by] ?? 0) + value;
  }
  return counts;
}
