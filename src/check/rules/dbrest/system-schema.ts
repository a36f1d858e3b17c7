import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { settingsOf } from './settings.ts';

/** PostgreSQL's own, and where platforms keep passwords, keys and jobs. */
const SYSTEM = /^(?:pg_\w+|information_schema|auth|vault|pgsodium|pgsodium_masks|cron|supabase_\w+)$/;

export const dbrestSystemSchema: Rule = {
  id: 'GW608',
  slug: 'dbrest-system-schema',
  severity: 'error',
  summary: 'a schema of the system is served',
  why: 'It tells every table, role and function there is; "auth" and its like hold users with their passwords.',
  fix: 'Serve views in a schema of your own that show what is meant to be shown.',
  bad: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas "api, pg_catalog"; dbrest_anon_role anon; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas "api, reports"; dbrest_anon_role anon; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('dbrest_schemas')) {
      for (const schema of settingsOf(block).schemas.filter((name) => SYSTEM.test(name))) {
        const word = node.args.find(({ value }) => value.split(/[\s,]+/).includes(schema));
        yield {
          at: word?.span ?? node,
          message: `"dbrest_schemas" serves "${schema}", a schema of the system`,
        };
      }
    }
  },
};
