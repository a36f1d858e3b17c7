import type { Caches } from '../../../cache/index.ts';
import type { Build } from '../../../contract/index.ts';
import type { Exchange } from '../../../http/index.ts';
import { type CachePolicy, compilePolicy, compilePredicate } from '../../../upstream-cache/index.ts';
import type { ProxyConfig } from '../config.ts';
import type { Target } from '../target.ts';

/** What `proxy_cache…` says about the requests of a location, compiled. */
export interface ProxyCachePolicy extends CachePolicy {
  /** Tells whether responses to a method are stored. */
  takes(method: string): boolean;
  keyOf(x: Exchange, target: Target, requestTarget: string): string;
  /** The request asks for the removal of what its key means. */
  purges(x: Exchange): boolean;
}

/** Compiles the directives of one location. */
export function compileProxyPolicy(config: ProxyConfig, caches: Caches, build: Build): ProxyCachePolicy {
  const methods = new Set<string>(['GET', 'HEAD', ...(config.cacheMethods ?? [])]);
  const key = config.cacheKey && build.value(config.cacheKey);
  const tagHeader = config.tagHeader ?? (config.cacheTags ? config.cacheTagsHeader : undefined);
  return {
    ...compilePolicy(config, { caches, tagHeader }, build),
    takes: (method) => methods.has(method),
    keyOf: (x, { proxyHost }, requestTarget) =>
      key ? key(x) : `${x.request.port.scheme}${proxyHost}${requestTarget}`,
    purges: compilePredicate(config.cachePurge, build),
  };
}
