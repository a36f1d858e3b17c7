import { type Exchange, stateKey } from '../../http/index.ts';

/** `$upstream_cache_status`. */
export type CacheStatus = 'MISS' | 'BYPASS' | 'EXPIRED' | 'STALE' | 'UPDATING' | 'REVALIDATED' | 'HIT';

/** The facts about the cache that variables show, kept with the request. */
export interface CacheFacts {
  status: CacheStatus | '';
  readonly key: string;
  /** When the served response was stored or renewed (ms since the epoch); 0: no stored response is served. */
  storedMs: number;
  /** The validators of an expired response while its upstream is asked; otherwise ''. */
  lastModified: string;
  etag: string;
}

const CACHE_FACTS = stateKey<CacheFacts>('proxy cache');

/** Returns the request's facts; `undefined` if its location has no cache. */
export function cacheFacts(x: Exchange): CacheFacts | undefined {
  return x.state(CACHE_FACTS);
}

/** Resets the facts when the request has come to a location with a cache. */
export function beginCacheFacts(x: Exchange, key: string): CacheFacts {
  const facts: CacheFacts = { status: '', key, storedMs: 0, lastModified: '', etag: '' };
  x.setState(CACHE_FACTS, facts);
  return facts;
}
