import { type CheckedModule, type ModuleRule, type Problem } from '../../../contract/index.ts';
import { mayCache } from '../../../cache/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { type ServedDatabase, servedDatabases } from './served.ts';

const location = (text: string): string => `
proxy_cache_path /var/cache/gw keys_zone=rows:10m;
server {
  listen 127.0.0.1:8080;
  location /api/ {
    dbrest_pass postgresql://authenticator@localhost/app;
    dbrest_schemas api;
    dbrest_anon_role anon;
    dbrest_cache rows;
${text}
  }
}`;

function cached(config: CheckedModule<DbrestConfig>): readonly ServedDatabase[] {
  return servedDatabases(config).filter(({ settings }) => mayCache(settings));
}

const dbrestCachePreRequest: ModuleRule<DbrestConfig> = {
  id: 'GW620',
  slug: 'dbrest-cache-pre-request',
  severity: 'warning',
  summary: 'a cache where a function runs before each request',
  why: 'The function may refuse a request, or set what policies read; the cache cannot know it. So nothing is stored until "dbrest_cache_pre_request on" says that responses do not depend on the function.',
  fix: 'Remove the cache, or add "dbrest_cache_pre_request on" if the function decides by role and claims alone.',
  bad: {
    in: 'http',
    text: location('    dbrest_cache_valid 1m;\n    dbrest_pre_request api.check_request;'),
  },
  good: {
    in: 'http',
    text: location(
      '    dbrest_cache_valid 1m;\n    dbrest_pre_request api.check_request;\n    dbrest_cache_pre_request on;',
    ),
  },
  *check(config): Iterable<Problem> {
    for (const { node, block, settings } of cached(config)) {
      if (!settings.preRequest || settings.cachePreRequest) continue;
      yield {
        at: config.nodesIn(block, 'cache')[0] ?? node,
        message: '"dbrest_cache" stores nothing where "dbrest_pre_request" names a function',
        hint: 'add "dbrest_cache_pre_request on" if responses do not depend on the function',
      };
    }
  },
};

const dbrestCacheNoLifetime: ModuleRule<DbrestConfig> = {
  id: 'GW621',
  slug: 'dbrest-cache-no-lifetime',
  severity: 'info',
  summary: 'only responses are stored whose lifetime the database sets',
  why: 'Without "dbrest_cache_valid", only responses are stored for which a function has set "response.headers" with Cache-Control or X-Accel-Expires. Tables and views set none.',
  fix: 'Say how long rows are fresh if no write removes them: "dbrest_cache_valid 10m;".',
  bad: { in: 'http', text: location('') },
  good: { in: 'http', text: location('    dbrest_cache_valid 10m;') },
  *check(config): Iterable<Problem> {
    for (const { node, block, settings } of cached(config)) {
      if (settings.cacheValid || settings.preRequest || settings.cacheRpc) continue;
      yield {
        at: config.nodesIn(block, 'cache')[0] ?? node,
        message: '"dbrest_cache" without "dbrest_cache_valid" stores no rows of tables and views',
      };
    }
  },
};

/** Rules about caches of rows. */
export const CACHING_RULES: readonly ModuleRule<DbrestConfig>[] = [
  dbrestCachePreRequest,
  dbrestCacheNoLifetime,
];
