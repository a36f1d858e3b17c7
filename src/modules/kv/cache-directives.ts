import { directivesFor, readers, uses } from '../../config/index.ts';
import { cacheReaders, type UpstreamCacheConfig } from '../../cache/index.ts';

/** `kv_cache*` of one location. */
export interface KvCacheConfig extends Omit<UpstreamCacheConfig, 'cacheValid'> {
  /** The time for which replies are kept; absent: they are not stored. */
  readonly cacheValidMs?: number;
}

const EVERYWHERE = ['http', 'server', 'location'] as const;
const { flag, integer, time } = readers;

/** The rows of all `kv_cache*` directives. */
export const cacheDirectives = directivesFor<KvCacheConfig>()({
  kv_cache: {
    contexts: EVERYWHERE,
    args: { ...readers.value, syntax: 'zone | off' },
    into: 'cache',
    default: { parts: ['off'] },
    defaultText: 'off',
    summary:
      'The cache (proxy_cache_path) that replies to get, mget, exists, strlen and hget are stored in and served from, until their keys change: by a write through gw, or as the store announces it (Redis 6, Valkey). The variables $kv_last_... have no value for replies from the cache.',
    roles: uses('response cache'),
    source: 'gw',
  },
  kv_cache_key: {
    contexts: EVERYWHERE,
    args: readers.value,
    into: 'cacheKey',
    summary:
      'Tells more requests apart than the cache does anyway: by the store, the command, its keys and field, and the encoding.',
    source: 'gw',
  },
  kv_cache_valid: {
    contexts: EVERYWHERE,
    args: time,
    into: 'cacheValidMs',
    summary:
      'How long replies are fresh, never longer than their keys live in the store, and 1s where the store does not announce changes. Without it nothing is stored.',
    source: 'gw',
  },
  kv_cache_bypass: {
    contexts: EVERYWHERE,
    args: readers.values,
    into: 'cacheBypass',
    repeat: 'append',
    summary: 'If one of the values is neither empty nor 0, the reply is not taken from the cache.',
    source: 'gw',
  },
  kv_cache_no_cache: {
    contexts: EVERYWHERE,
    args: readers.values,
    into: 'noCache',
    repeat: 'append',
    summary: 'If one of the values is neither empty nor 0, the reply is not stored.',
    source: 'gw',
  },
  kv_cache_min_uses: {
    contexts: EVERYWHERE,
    args: integer(),
    into: 'cacheMinUses',
    default: 1,
    summary: 'Number of requests for a key that it takes until its reply is stored.',
    source: 'gw',
  },
  kv_cache_use_stale: {
    contexts: EVERYWHERE,
    args: cacheReaders.staleConditions,
    into: 'cacheUseStale',
    repeat: 'append',
    defaultText: 'off',
    summary:
      'When an expired reply is served: after which statuses ("error" is 502, "timeout" is 504), and while it is updated.',
    source: 'gw',
  },
  kv_cache_lock: {
    contexts: EVERYWHERE,
    args: flag,
    into: 'cacheLock',
    default: false,
    summary: 'One request at a time asks the store for a reply that is not in the cache; the others wait.',
    source: 'gw',
  },
  kv_cache_lock_timeout: {
    contexts: EVERYWHERE,
    args: time,
    into: 'cacheLockTimeoutMs',
    default: 5_000,
    defaultText: '5s',
    summary: 'Longest wait for the lock; after it a request asks the store, and its reply is not stored.',
    source: 'gw',
  },
  kv_cache_lock_age: {
    contexts: EVERYWHERE,
    args: time,
    into: 'cacheLockAgeMs',
    default: 5_000,
    defaultText: '5s',
    summary: 'If the request with the lock is not done after this time, one more asks the store.',
    source: 'gw',
  },
  kv_cache_background_update: {
    contexts: EVERYWHERE,
    args: flag,
    into: 'cacheBackgroundUpdate',
    default: false,
    summary: 'An expired reply is served at once, and updated by a request of its own.',
    source: 'gw',
  },
});
