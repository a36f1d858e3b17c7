import {
  type CachePolicy,
  type CacheRules,
  type Caches,
  type CacheStore,
  compilePolicy,
  compilePredicate,
  type Fetch,
  type OtherGateways,
  serveCached,
  StoredDelivery,
} from '../cache/index.ts';
import { constantText } from '../config/index.ts';
import { type Exchange, logContext } from '../http/index.ts';
import type { ForwardingBuild } from './forwarding-build.ts';
import type { ForwardingConfig } from './config.ts';
import type { Provisioned } from './connections.ts';
import type { Protocol, RequestedTarget, Target } from './protocol.ts';
import type { ResponseDelivery } from './response-delivery.ts';
import type { Upload } from './upload.ts';

/** The compiled directives `proxy_cache…` and the like for the requests of a location. */
export interface ForwardingPolicy<T extends Target> extends CachePolicy {
  /** Tells whether responses to a method are stored. */
  takes(method: string): boolean;
  keyOf(x: Exchange, asked: Pick<RequestedTarget<T>, 'target' | 'uri'>): string;
  /** Tells whether the request asks to remove the stored responses of its key. */
  purges(x: Exchange): boolean;
}

/** Compiles the directives of one location. */
export function compileForwardingPolicy<T extends Target>(
  config: ForwardingConfig,
  { caches, protocol }: { readonly caches: Caches; readonly protocol: Protocol<T> },
  build: ForwardingBuild,
): ForwardingPolicy<T> {
  const methods = new Set<string>(['GET', 'HEAD', ...(config.cacheMethods ?? [])]);
  const key = config.cacheKey && build.value(config.cacheKey);
  const { cacheTags, cacheTagsHeader, tagHeader = cacheTags ? cacheTagsHeader : undefined } = build.core;
  return {
    ...compilePolicy(config, { caches, tagHeader }, build),
    takes: (method) => methods.has(method),
    keyOf: (x, asked) => (key ? key(x) : protocol.defaultKey(x, asked)),
    purges: compilePredicate(config.cachePurge, build),
  };
}

/** A request as it would be sent. */
export interface Outgoing<T extends Target> {
  readonly target: T;
  readonly uri: string;
  readonly upload: Upload | undefined;
}

interface CachedLocation<T extends Target> {
  readonly config: ForwardingConfig;
  readonly provisioned: Provisioned;
  readonly protocol: Protocol<T>;
  readonly delivery: ResponseDelivery;
  readonly fetch: Fetch<Outgoing<T>>;
}

/** Compiles the handling of requests in a location with a cache. */
export function compileCached<T extends Target>(
  { config, provisioned, protocol, delivery, fetch }: CachedLocation<T>,
  build: ForwardingBuild,
): (x: Exchange, outgoing: Outgoing<T>) => void | Promise<void> {
  const { caches, buffers } = provisioned;
  const policy = compileForwardingPolicy(config, { caches, protocol }, build);
  const warn = (x: Exchange, message: string): void => build.log.write('warn', message, logContext(x));
  const stored = new StoredDelivery(delivery, { buffers, forcesRanges: config.forceRanges }, build);
  const others = purgedWith(config, provisioned, build);
  const rules: CacheRules<Outgoing<T>> = { policy, delivery, stored, fetch, warn };
  return (x, outgoing) => {
    const store = policy.storeOf(x);
    if (!store) return fetch(x, outgoing, { isForCache: false });
    if (policy.purges(x)) return purge(x, policy.keyOf(x, outgoing), { store, others });
    if (!policy.takes(x.method)) return fetch(x, outgoing, { isForCache: false });
    return serveCached(x, { rules, outgoing, store, key: policy.keyOf(x, outgoing) });
  };
}

/** Shares the purges of this location with the gateways of its cluster, and returns these gateways. */
function purgedWith(
  { cache, cachePurge }: ForwardingConfig,
  { caches, sharePurges }: Provisioned,
  { core }: ForwardingBuild,
): OtherGateways | undefined {
  if (cachePurge === undefined) return undefined;
  const store = caches.get(constantText(cache) ?? '');
  return sharePurges(store ? [store] : [...caches.values()], core);
}

/** Removes the stored responses of a key. The client gets its response when no worker serves them any more. */
async function purge(
  x: Exchange,
  key: string,
  { store, others }: { readonly store: CacheStore; readonly others: OtherGateways | undefined },
): Promise<void> {
  const meant = key.endsWith('*')
    ? ({ kind: 'prefix', text: key.slice(0, -1) } as const)
    : ({ kind: 'key', text: key } as const);
  void others?.tell([{ zone: store.name, kind: meant.kind, texts: [meant.text] }]);
  const count = await store.purge(meant, 'api');
  x.end(count > 0 ? 204 : 404);
}
