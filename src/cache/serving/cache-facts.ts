import { type Exchange, stateKey } from '../../http/index.ts';

/** `$upstream_cache_status`. */
export type CacheStatus = 'MISS' | 'BYPASS' | 'EXPIRED' | 'STALE' | 'UPDATING' | 'REVALIDATED' | 'HIT';

/** What variables tell of the cache, kept with the request. */
export interface CacheFacts {
  status: CacheStatus | '';
  readonly key: string;
  /** When the response that is served was stored or renewed (ms since the epoch); 0: none is served. */
  storedMs: number;
  /** The validators of an expired response while its upstream is asked; '' otherwise. */
  lastModified: string;
  etag: string;
}

const CACHE_FACTS = stateKey<CacheFacts>('proxy cache');

/** Gives what is kept of the request's cache; `undefined`: its location has none. */
export function cacheFacts(x: Exchange): CacheFacts | undefined {
  return x.state(CACHE_FACTS);
}

/** Begins anew: the request has come to a location with a cache. */
export function beginCacheFacts(x: Exchange, key: string): CacheFacts {
  const facts: CacheFacts = { status: '', key, storedMs: 0, lastModified: '', etag: '' };
  x.setState(CACHE_FACTS, facts);
  return facts;
}
