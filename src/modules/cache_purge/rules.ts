import type { ModuleRule, Problem } from '../../contract/index.ts';
import type { CachePurgeConfig } from './directives.ts';

const CACHE = 'proxy_cache_path /var/cache/gw keys_zone=pages:10m;';

const cachePurgeOpen: ModuleRule<CachePurgeConfig> = {
  id: 'GW807',
  slug: 'cache-purge-open',
  severity: 'error',
  summary: 'a cache that anyone can empty',
  why: 'Anyone who finds the address can empty the cache again and again, so that all requests go to the upstream.',
  fix: 'Listen on a loopback address, or restrict access with "allow" and "deny".',
  bad: {
    in: 'http',
    text: `${CACHE}
server {
  listen 80;
  location = /purge { cache_purge_api; cache_purge_zone pages; }
}`,
  },
  good: {
    in: 'http',
    text: `${CACHE}
server {
  listen 80;
  location = /purge {
    cache_purge_api;
    cache_purge_zone pages;
    cache_purge_authorize allowlist;
    cache_purge_allowlist 10.0.0.0/8;
  }
}`,
  },
  *check(config): Iterable<Problem> {
    for (const { node } of config.exposed('cache-purge-open')) {
      yield {
        at: node,
        message: `"${node.name.value}" lets anyone remove stored responses`,
        hint: 'add "cache_purge_authorize allowlist", "allow" and "deny", or another access check',
      };
    }
  },
};

/** The rules about purging. */
export const rules: readonly ModuleRule<CachePurgeConfig>[] = [cachePurgeOpen];
