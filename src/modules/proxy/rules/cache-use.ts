import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import type { CheckedModule, ModuleRule, Problem } from '../../../contract/index.ts';
import { mayCache } from '../../../upstream-cache/index.ts';
import type { ProxyConfig } from '../config.ts';
import { cachedPasses } from './cached-passes.ts';

type Config = CheckedModule<ProxyConfig>;

const CACHE = 'proxy_cache_path /var/cache/gw keys_zone=pages:10m;';
const server = (text: string): string => `${CACHE}
server {
  listen 127.0.0.1:80;
  location / {
    proxy_pass http://127.0.0.1:9000;
${text}
  }
}`;

const cacheNoLifetime: ModuleRule<ProxyConfig> = {
  id: 'GW421',
  slug: 'cache-no-lifetime',
  severity: 'info',
  summary: 'only responses are stored that say how long',
  why: 'Without "proxy_cache_valid", a response without "Cache-Control: max-age", "Expires" or "X-Accel-Expires" is not stored.',
  fix: 'Say how long responses are fresh: "proxy_cache_valid 10m;".',
  bad: { in: 'http', text: server('    proxy_cache pages;') },
  good: { in: 'http', text: server('    proxy_cache pages;\n    proxy_cache_valid 10m;') },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { cacheNode, values } of cachedPasses(config)) {
      if (values.cacheValid || told.has(cacheNode)) continue;
      told.add(cacheNode);
      yield {
        at: cacheNode,
        message: `"${cacheNode.name.value}" without "proxy_cache_valid" stores only what the upstream gives a lifetime`,
      };
    }
  },
};

/** Directives that have an effect only where responses are stored. */
const OF_CACHES = [
  'proxy_cache_valid',
  'proxy_cache_key',
  'proxy_cache_methods',
  'proxy_cache_min_uses',
  'proxy_cache_bypass',
  'proxy_no_cache',
  'proxy_cache_use_stale',
  'proxy_cache_lock',
  'proxy_cache_lock_timeout',
  'proxy_cache_lock_age',
  'proxy_cache_background_update',
  'proxy_cache_revalidate',
  'proxy_cache_convert_head',
  'proxy_cache_max_range_offset',
  'proxy_cache_verify',
  'proxy_cache_purge',
  'cache_tags',
  'cache_tag_header',
] as const;

const cacheNotUsed: ModuleRule<ProxyConfig> = {
  id: 'GW422',
  slug: 'cache-not-used',
  severity: 'warning',
  summary: 'directives about a cache where nothing is stored',
  why: 'Without "proxy_cache" no response is stored: its lifetime and key have no effect, and every request goes to the upstream.',
  fix: 'Add "proxy_cache" with the name of a zone, or take the directives out.',
  bad: { in: 'http', text: server('    proxy_cache_valid 10m;') },
  good: { in: 'http', text: server('    proxy_cache pages;\n    proxy_cache_valid 10m;') },
  *check(config): Iterable<Problem> {
    for (const block of config.blocksWith(...OF_CACHES)) {
      if (!isForwarding(block, config) || mayBeUsed(block, config)) continue;
      const [first, ...others] = block.own(...OF_CACHES);
      if (!first) continue;
      yield {
        at: first,
        message: `"${first.name.value}" has no effect: no "proxy_cache" holds here`,
        related: others.map(({ span }) => ({ span, label: 'nor has this' })),
        // What holds for a whole site may wait for a location that needs it.
        ...(block.context !== 'location' && { severity: 'info' as const }),
      };
    }
  },
};

/** Settings in a block without requests to an upstream belong to a file that others include. */
function isForwarding(block: BlockView, config: Config): boolean {
  return (
    config.configIn(block).pass !== undefined || block.inner.some((inner) => isForwarding(inner, config))
  );
}

/** The block, or one inside it, has a cache, or says that it has none. */
function mayBeUsed(block: BlockView, config: Config): boolean {
  const saysOff = config.nodesIn(block, 'cache').length > 0;
  return saysOff || mayCache(config.configIn(block)) || block.inner.some((inner) => mayBeUsed(inner, config));
}

const cacheBackgroundUpdate: ModuleRule<ProxyConfig> = {
  id: 'GW424',
  slug: 'cache-background-update',
  severity: 'warning',
  summary: 'responses are to be updated in the background, but no stale one may be served meanwhile',
  why: 'Without "updating" in "proxy_cache_use_stale" a client waits for the upstream when a response has expired, unless the response itself came with "stale-while-revalidate".',
  fix: 'Add "updating" to "proxy_cache_use_stale".',
  bad: {
    in: 'http',
    text: server('    proxy_cache pages;\n    proxy_cache_valid 10m;\n    proxy_cache_background_update on;'),
  },
  good: {
    in: 'http',
    text: server(
      '    proxy_cache pages;\n    proxy_cache_valid 10m;\n    proxy_cache_background_update on;\n    proxy_cache_use_stale updating;',
    ),
  },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { block, values } of cachedPasses(config)) {
      const [at] = config.nodesIn(block, 'cacheBackgroundUpdate');
      const conditions = values.cacheUseStale?.flat() ?? [];
      const isMeant = conditions.includes('updating') && !conditions.includes('off');
      if (!at || !values.cacheBackgroundUpdate || isMeant || told.has(at)) continue;
      told.add(at);
      yield {
        at,
        message: '"proxy_cache_background_update" needs "proxy_cache_use_stale updating"',
        hint: 'add "updating" to "proxy_cache_use_stale"',
      };
    }
  },
};

/** Rules about where and how long responses are stored. */
export const CACHE_USE_RULES: readonly ModuleRule<ProxyConfig>[] = [
  cacheNoLifetime,
  cacheNotUsed,
  cacheBackgroundUpdate,
];
