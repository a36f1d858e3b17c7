import { type Caches, type CachePolicy, compilePolicy, compilePredicate } from '../cache/index.ts';
import type { Exchange } from '../http/index.ts';
import type { ForwardingBuild } from './build.ts';
import type { ForwardingConfig } from './config.ts';
import type { RequestedTarget, Protocol, Target } from './protocol.ts';

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
