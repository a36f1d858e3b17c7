import { mayCache } from '../../../cache/index.ts';
import type { CheckedModule, ModuleRule, Problem } from '../../../contract/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { type ServedDatabase, servedDatabases } from './served.ts';

/** Reports the uses of a directive that apply to no location with a database. */
export function* idle(
  config: CheckedModule<DbrestConfig>,
  directive: string,
  field: keyof DbrestConfig,
): Iterable<Problem> {
  const holding = new Set(servedDatabases(config).flatMap(({ block }) => config.nodesIn(block, field)));
  for (const { node } of config.uses(directive)) {
    if (holding.has(node)) continue;
    yield {
      at: node,
      message: `"${directive}" has no effect: it applies to no location with "dbrest_pass"`,
    };
  }
}

const dbrestMaxCostIdle: ModuleRule<DbrestConfig> = {
  id: 'GW622',
  slug: 'dbrest-max-cost-idle',
  severity: 'warning',
  summary: 'a maximum cost that applies to no request',
  why: 'Only locations with "dbrest_pass" estimate the cost of requests. The directive has no effect if the block contains none, or if each has a limit of its own.',
  fix: 'Move it into the location that serves the database, or remove it.',
  bad: {
    text: `location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }
location /files/ { dbrest_max_cost 10000; }`,
  },
  good: {
    text: `location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_max_cost 10000; }
location /files/ { }`,
  },
  check: (config) => idle(config, 'dbrest_max_cost', 'maxCost'),
};

const dbrestRowVersionIdle: ModuleRule<DbrestConfig> = {
  id: 'GW623',
  slug: 'dbrest-row-version-idle',
  severity: 'warning',
  summary: 'row versions where no rows are served',
  why: 'Only locations with "dbrest_pass" compare row versions. The directive has no effect if the block contains none, or if each has a column of its own.',
  fix: 'Move it into the location that serves the database, or remove it.',
  bad: {
    text: `location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }
location /files/ { dbrest_row_version xmin; }`,
  },
  good: {
    text: `location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_row_version xmin; }
location /files/ { }`,
  },
  check: (config) => idle(config, 'dbrest_row_version', 'rowVersion'),
};

const dbrestCommentPlans: ModuleRule<DbrestConfig> = {
  id: 'GW632',
  slug: 'dbrest-comment-plans',
  severity: 'warning',
  summary: 'ids of requests in the text of statements',
  why: 'With "dbrest_request_comment comment" every statement has another text. It cannot be prepared, so PostgreSQL parses and plans it for each request, and requests take longer.',
  fix: 'Use "dbrest_request_comment on", which shows the id as application_name: in log_line_prefix (%a) and pg_stat_activity. Keep "comment" where a tool reads comments, as sqlcommenter writes them.',
  bad: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_request_comment comment; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_request_comment on; }',
  },
  *check(config): Iterable<Problem> {
    const told = new Set<unknown>();
    for (const { node, block, settings } of servedDatabases(config)) {
      const at = config.nodesIn(block, 'requestComment')[0] ?? node;
      if (settings.requestComment !== 'comment' || told.has(at)) continue;
      told.add(at);
      yield {
        at,
        message: '"dbrest_request_comment comment" makes PostgreSQL plan every statement anew',
        hint: 'use "on" to show the id as application_name',
      };
    }
  },
};

/** Rules about limits and versions of rows, and about what statements tell of requests. */
export const REQUEST_RULES: readonly ModuleRule<DbrestConfig>[] = [
  dbrestMaxCostIdle,
  dbrestRowVersionIdle,
  dbrestCommentPlans,
];

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
  why: 'The function may refuse requests or set values that policies read, which the cache cannot see. Nothing is stored unless "dbrest_cache_pre_request on" says that responses do not depend on the function.',
  fix: 'Remove the cache, or add "dbrest_cache_pre_request on" if the function depends only on role and claims.',
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
        message: '"dbrest_cache" stores nothing because of "dbrest_pre_request"',
        hint: 'add "dbrest_cache_pre_request on" if responses do not depend on the function',
      };
    }
  },
};

const dbrestCacheNoLifetime: ModuleRule<DbrestConfig> = {
  id: 'GW621',
  slug: 'dbrest-cache-no-lifetime',
  severity: 'info',
  summary: 'only responses whose lifetime the database sets are stored',
  why: 'Without "dbrest_cache_valid", only responses of functions that set Cache-Control or X-Accel-Expires in "response.headers" are stored. Tables and views never set them.',
  fix: 'Set a lifetime: "dbrest_cache_valid 10m;". Writes remove stored rows earlier.',
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
