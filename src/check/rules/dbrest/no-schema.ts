import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { servedDatabases } from './settings.ts';

export const dbrestNoSchema: Rule = {
  id: 'GW607',
  slug: 'dbrest-no-schema',
  severity: 'warning',
  summary: 'a database served without saying which schema',
  why: 'Then it is "public", where every extension puts its tables and functions, and where one more table is served as soon as it is made.',
  fix: 'Make a schema of views and functions that are meant to be served, and name it: dbrest_schemas api.',
  bad: { text: 'location /api/ { dbrest_pass embedded; dbrest_anon_role anon; }' },
  good: { text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of servedDatabases(config)) {
      if (block.from('dbrest').has('schemas')) continue;
      yield {
        at: node,
        message: '"dbrest_schemas" is not set: "public" is served with every table of every extension',
        hint: 'name a schema that is made to be served: dbrest_schemas api',
      };
    }
  },
};
