import type { StoredEntry } from '../store/stored-entry.ts';
import { type Exchange, HttpFault } from '../../http/index.ts';
import type { CachePolicy } from './policy.ts';
import type { CacheValidConfig } from './readers.ts';

interface Fact {
  readonly label: string;
  readonly value: string;
}

/** The action of the cache for a request. */
interface CacheVerdict {
  readonly facts: readonly Fact[];
  /** The request would not reach its origin. */
  readonly isServed: boolean;
  /** The request would reach its origin without the headers that concern its client alone. */
  readonly isFor?: boolean;
}

/** A request as the cache sees it. */
interface Explained {
  readonly policy: CachePolicy;
  readonly keyOf: () => string;
  /** The request purges the entries that its key means. */
  readonly isPurge?: boolean;
  /** The cluster whose gateways purge them, too. */
  readonly purgeCluster?: string | undefined;
  /** The reason why the request bypasses the cache: `for POST`. */
  readonly leftOut?: string | undefined;
  /** The directive that keeps responses from being stored. */
  readonly refusedBy: string;
}

/** Explains what the cache has for a request, without changing anything, and what it would store. */
export async function explainCache(
  x: Exchange,
  { policy, keyOf, isPurge = false, purgeCluster, leftOut, refusedBy }: Explained,
): Promise<CacheVerdict> {
  let store;
  try {
    store = policy.storeOf(x);
  } catch (error) {
    if (!(error instanceof HttpFault)) throw error;
    return { facts: [{ label: 'cache', value: error.message }], isServed: false };
  }
  if (!store) return { facts: [], isServed: false };
  const cache = { label: 'cache', value: store.name };
  if (isPurge) {
    const shared = purgeCluster === undefined ? [] : [{ label: 'cluster', value: purgeCluster }];
    return { facts: [cache, { label: 'purges', value: keyOf() }, ...shared], isServed: true };
  }
  if (leftOut !== undefined)
    return { facts: [{ ...cache, value: `${store.name}, not ${leftOut}` }], isServed: false };
  const key = keyOf();
  const entry = await store.look(key, policy.variantOf(x));
  const facts = [cache, { label: 'key', value: key }];
  const isBypassed = policy.bypasses(x);
  const state = isBypassed ? 'BYPASS: the response is fetched' : stateOf(entry, store.now());
  const isServed = !isBypassed && entry !== undefined && entry.head.times.validMs > store.now();
  entry?.release();
  const stored = policy.refuses(x)
    ? [{ label: 'stores', value: `nothing: ${refusedBy}` }]
    : storingFacts(policy);
  return {
    facts: [...facts, { label: 'state', value: state }, ...stored],
    isServed,
    isFor: !policy.isFarRange(x),
  };
}

function stateOf(entry: StoredEntry | undefined, nowMs: number): string {
  if (!entry) return 'MISS: the directory has no response for the key';
  const { response, times } = entry.head;
  const seconds = Math.round(Math.abs(times.validMs - nowMs) / 1000);
  const what = `${response?.status ?? 200}, ${entry.sizeBytes} bytes, stored ${new Date(times.storedMs).toISOString()}`;
  return times.validMs > nowMs
    ? `HIT: ${what}, fresh for ${seconds} s`
    : `EXPIRED: ${what}, ${seconds} s ago`;
}

function storingFacts({ config }: CachePolicy): readonly Fact[] {
  const label = 'stores';
  const minUses = config.cacheMinUses > 1 ? `, from request ${config.cacheMinUses} for the key on` : '';
  const rules = (config.cacheValid ?? []).map(ruleText);
  return [
    { label, value: `as long as the headers of the response say${headersText(config)}${minUses}` },
    ...rules.map((rule) => ({ label, value: `without such headers, ${rule}` })),
  ];
}

function headersText({ ignoreHeaders = [] }: CachePolicy['config']): string {
  const ignored = ignoreHeaders.flat();
  return ignored.length === 0 ? '' : ` (ignored: ${ignored.join(', ')})`;
}

function ruleText({ codes, ms }: CacheValidConfig): string {
  const what = codes === 'any' ? 'any status' : `status ${codes.join(', ')}`;
  return `${what} for ${ms / 1000} s`;
}
