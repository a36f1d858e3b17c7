import { isOpen } from '../../exposure.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { servedDatabases } from './settings.ts';

export const dbrestOpenapiPublic: Rule = {
  id: 'GW617',
  slug: 'dbrest-openapi-public',
  severity: 'info',
  summary: 'the description of all tables and functions is shown to strangers',
  why: 'With "ignore-privileges" the root of the location lists what the anonymous role may not even use.',
  fix: 'Leave dbrest_openapi at follow-privileges, or turn it off.',
  bad: {
    in: 'http',
    text: `server {
  listen 443;
  location /api/ {
    dbrest_pass embedded;
    dbrest_schemas api;
    dbrest_anon_role anon;
    dbrest_max_rows 1000;
    dbrest_openapi ignore-privileges;
    limit_except GET { deny all; }
  }
}`,
  },
  good: {
    in: 'http',
    text: `server {
  listen 443;
  location /api/ {
    dbrest_pass embedded;
    dbrest_schemas api;
    dbrest_anon_role anon;
    dbrest_max_rows 1000;
    limit_except GET { deny all; }
  }
}`,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block, settings } of servedDatabases(config)) {
      const { anonRole, openapi } = settings;
      if (openapi !== 'ignore-privileges' || anonRole === undefined || !isOpen(config, block)) continue;
      yield {
        at: block.from('dbrest').get('openapi')?.nodes[0] ?? node,
        message: '"dbrest_openapi ignore-privileges" shows strangers what they may not use',
      };
    }
  },
};
