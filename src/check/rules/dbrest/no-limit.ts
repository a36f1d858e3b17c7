import { isOpen } from '../../exposure.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { servedDatabases } from './settings.ts';

export const dbrestNoLimit: Rule = {
  id: 'GW611',
  slug: 'dbrest-no-limit',
  severity: 'warning',
  summary: 'tables that strangers may read as a whole in one request',
  why: 'One request takes a copy of a table, and the database is busy with nothing else meanwhile.',
  fix: 'Set dbrest_max_rows.',
  bad: {
    in: 'http',
    text: `server {
  listen 443;
  location /api/ {
    dbrest_pass embedded;
    dbrest_schemas api;
    dbrest_anon_role anon;
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
      if (settings.anonRole === undefined || settings.maxRows !== undefined || !isOpen(config, block))
        continue;
      yield {
        at: node,
        message: 'everybody may read whole tables: "dbrest_max_rows" is not set',
        hint: 'add dbrest_max_rows 1000',
      };
    }
  },
};
