import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { servedDatabases } from './settings.ts';

export const dbrestNoAuth: Rule = {
  id: 'GW603',
  slug: 'dbrest-no-auth',
  severity: 'warning',
  summary: 'a database that no request can get at',
  why: 'Without a secret no token is believed, and without an anonymous role nobody does without: every request gets 401.',
  fix: 'Set dbrest_anon_role for unauthenticated requests, dbrest_jwt_secret for tokens, or both.',
  bad: { text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; }' },
  good: { text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, settings } of servedDatabases(config)) {
      if (settings.anonRole !== undefined || settings.jwtKeys) continue;
      yield {
        at: node,
        message: 'neither "dbrest_jwt_secret" nor "dbrest_anon_role" is set: every request is refused',
      };
    }
  },
};
