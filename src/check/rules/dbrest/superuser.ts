import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { isSuperuser, servedDatabases } from './settings.ts';

export const dbrestSuperuser: Rule = {
  id: 'GW601',
  slug: 'dbrest-superuser',
  severity: 'error',
  summary: 'requests reach the database over a superuser',
  why: 'A superuser may become every role, and row security does not hold for him: a token that names another superuser, or one function that resets the role, has the whole server.',
  fix: 'Log in as a role of its own, "authenticator noinherit", that was granted the roles of requests and nothing else.',
  bad: {
    text: 'location /api/ { dbrest_pass postgresql://postgres@localhost/app; dbrest_schemas api; dbrest_anon_role anon; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass postgresql://authenticator@localhost/app; dbrest_schemas api; dbrest_anon_role anon; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, settings } of servedDatabases(config)) {
      const { pass } = settings;
      if (pass?.kind !== 'server' || !isSuperuser(pass.target.user)) continue;
      yield {
        at: node,
        message: `"dbrest_pass" connects as "${pass.target.user}" (superuser): row security is not applied to it`,
        hint: 'connect as a role "authenticator noinherit" that was granted the roles of requests',
      };
    }
  },
};
