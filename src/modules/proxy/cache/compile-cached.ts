import type { CacheStore } from '../../../cache/index.ts';
import type { ComplexValue } from '../../../config/index.ts';
import type { Build, HeaderRule } from '../../../contract/index.ts';
import { type Exchange, logContext } from '../../../http/index.ts';
import type { ProxyConfig } from '../config.ts';
import type { Provisioned } from '../provision.ts';
import type { ResponseDelivery } from '../response-delivery.ts';
import {
  type CacheRules,
  type Fetch,
  LockQueue,
  serveCached,
  StoredDelivery,
} from '../../../upstream-cache/index.ts';
import type { Target } from '../target.ts';
import type { Upload } from '../upload.ts';
import { compileProxyPolicy } from './policy.ts';

/** A request as it would be sent. */
export interface Outgoing {
  readonly target: Target;
  readonly requestTarget: string;
  readonly upload: Upload | undefined;
}

/** Compiles the way of requests in a location with a cache. */
export function compileCached(
  config: ProxyConfig,
  {
    provisioned,
    delivery,
    fetch,
  }: { provisioned: Provisioned; delivery: ResponseDelivery; fetch: Fetch<Outgoing> },
  build: Build,
): (x: Exchange, outgoing: Outgoing) => void | Promise<void> {
  const { caches, buffers } = provisioned;
  const policy = compileProxyPolicy(config, caches, build);
  const warn = (x: Exchange, message: string): void => build.log.write('warn', message, logContext(x));
  const stored = new StoredDelivery(delivery, { buffers, forcesRanges: config.forceRanges }, build);
  const rules: CacheRules<Outgoing> = { policy, delivery, stored, queue: new LockQueue(), fetch, warn };
  return (x, outgoing) => {
    const store = policy.storeOf(x);
    if (!store) return fetch(x, outgoing, { isForCache: false });
    if (policy.purges(x)) return purge(x, store, policy.keyOf(x, outgoing.target, outgoing.requestTarget));
    if (!policy.takes(x.method)) return fetch(x, outgoing, { isForCache: false });
    const key = policy.keyOf(x, outgoing.target, outgoing.requestTarget);
    return serveCached(x, { rules, outgoing, store, key });
  };
}

/** Removes what a key means. The response leaves when no worker serves it any more. */
async function purge(x: Exchange, store: CacheStore, key: string): Promise<void> {
  const meant = key.endsWith('*')
    ? ({ kind: 'prefix', text: key.slice(0, -1) } as const)
    : ({ kind: 'key', text: key } as const);
  const count = await store.purge(meant, 'api');
  x.end(count > 0 ? 204 : 404);
}

const variable = (name: string): ComplexValue => ({ parts: [{ variable: name }] });
const nothing: ComplexValue = { parts: [] };

/** Headers that concern the client alone (nginx ngx_http_proxy_cache_headers). */
const FOR_CACHE: readonly HeaderRule[] = [
  { name: 'If-Modified-Since', value: variable('upstream_cache_last_modified') },
  { name: 'If-Unmodified-Since', value: nothing },
  { name: 'If-None-Match', value: variable('upstream_cache_etag') },
  { name: 'If-Match', value: nothing },
  { name: 'Range', value: nothing },
  { name: 'If-Range', value: nothing },
];

/** Gives the rules for the heads of requests for the cache: the configured headers come before those for the cache. */
export function forCache(config: ProxyConfig): ProxyConfig {
  const { setHeaders = [] } = config;
  const names = new Set(setHeaders.map(({ name }) => name.toLowerCase()));
  const added = FOR_CACHE.filter(({ name }) => !names.has(name.toLowerCase()));
  return { ...config, setHeaders: [...setHeaders, ...added] };
}
