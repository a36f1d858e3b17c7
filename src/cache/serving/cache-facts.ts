import { type Exchange, stateKey } from '../../http/index.ts';

/** `$upstream_cache_status`. */
export type CacheStatus = 'MISS' | 'BYPASS' | 'EXPIRED' | 'STALE' | 'UPDATING' | 'REVALIDATED' | 'HIT';

/** The values of the variables about the cache, kept with the request. */
export interface CacheFacts {
  status: CacheStatus | '';
  readonly key: string;
  /** The time at which the served response was stored or renewed (ms since the epoch); 0 if no stored one is served. */
  storedMs: number;
  /** The validators of an expired response while its upstream is asked; '' otherwise. */
  lastModified: string;
  etag: string;
}

const CACHE_FACTS = stateKey<CacheFacts>('proxy cache');

/** Returns the facts about the request's cache; `undefined` if its location has no cache. */
export function cacheFacts(x: Exchange): CacheFacts | undefined {
  return x.state(CACHE_FACTS);
}

/**
 * Returns the seconds since the served response was stored or renewed (`$upstream_cache_age`); `undefined` if no stored
 * one is served. gw sends no `Age` by itself (nginx); `add_header Age $upstream_cache_age` sends it.
 */
export function cacheAge(x: Exchange): number | undefined {
  const { storedMs = 0 } = cacheFacts(x) ?? {};
  return storedMs === 0 ? undefined : Math.max(0, Math.floor((Date.now() - storedMs) / 1000));
}

/** Resets the facts: the request has entered a location with a cache. */
export function beginCacheFacts(x: Exchange, key: string): CacheFacts {
  const facts: CacheFacts = { status: '', key, storedMs: 0, lastModified: '', etag: '' };
  x.setState(CACHE_FACTS, facts);
  return facts;
}
