import type { StoredEntry } from '../../../cache/index.ts';
import type { ExplainedFact } from '../../../contract/index.ts';
import { type Exchange, HttpFault } from '../../../http/index.ts';
import type { CacheValidConfig, ProxyConfig } from '../config.ts';
import type { Target } from '../target.ts';
import type { CachePolicy } from './policy.ts';

/** What the cache would do with a request. */
interface CacheVerdict {
  readonly facts: readonly ExplainedFact[];
  /** The request would not reach the upstream. */
  readonly isServed: boolean;
  /** If it reaches the upstream, it goes without what concerns its client alone. */
  readonly isFor?: boolean;
}

const NOT_CACHED: CacheVerdict = { facts: [], isServed: false };

/** Explains what is in the directory for a request, without changing anything, and what would be stored. */
export async function explainCache(
  x: Exchange,
  { policy, target, requestTarget }: { policy: CachePolicy; target: Target; requestTarget: string },
): Promise<CacheVerdict> {
  let store;
  try {
    store = policy.storeOf(x);
  } catch (error) {
    if (!(error instanceof HttpFault)) throw error;
    return { facts: [{ label: 'cache', value: error.message }], isServed: false };
  }
  if (!store) return NOT_CACHED;
  const cache = { label: 'cache', value: store.name };
  const key = policy.keyOf(x, target, requestTarget);
  if (policy.purges(x)) return { facts: [cache, { label: 'purges', value: key }], isServed: true };
  if (!policy.takes(x.method))
    return { facts: [{ ...cache, value: `${store.name}, not for ${x.method}` }], isServed: false };
  const entry = await store.look(key, policy.variantOf(x));
  const facts = [cache, { label: 'key', value: key }];
  const isBypassed = policy.bypasses(x);
  const state = isBypassed ? 'BYPASS: the response is fetched' : stateOf(entry, store.now());
  const isServed = !isBypassed && entry !== undefined && entry.head.times.validMs > store.now();
  entry?.release();
  return {
    facts: [...facts, { label: 'state', value: state }, ...storingFacts(policy, policy.refuses(x))],
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

function storingFacts({ config }: CachePolicy, isRefused: boolean): readonly ExplainedFact[] {
  const label = 'stores';
  if (isRefused) return [{ label, value: 'nothing: proxy_no_cache' }];
  const minUses = config.cacheMinUses > 1 ? `, from request ${config.cacheMinUses} for the key on` : '';
  const rules = (config.cacheValid ?? []).map(ruleText);
  return [
    { label, value: `as long as the headers of the response say${headersText(config)}${minUses}` },
    ...rules.map((rule) => ({ label, value: `without such headers, ${rule}` })),
  ];
}

function headersText({ ignoreHeaders = [] }: ProxyConfig): string {
  const ignored = ignoreHeaders.flat();
  return ignored.length === 0 ? '' : ` (ignored: ${ignored.join(', ')})`;
}

function ruleText({ codes, ms }: CacheValidConfig): string {
  const what = codes === 'any' ? 'any status' : `status ${codes.join(', ')}`;
  return `${what} for ${ms / 1000} s`;
}
