import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { isSuperuser, servedDatabases } from './settings.ts';

export const dbrestAnonLogin: Rule = {
  id: 'GW618',
  slug: 'dbrest-anon-login',
  severity: 'warning',
  summary: 'unauthenticated requests run as the role that the gateway logs in with',
  why: 'That role may become all the others: requests have the rights of everybody.',
  fix: 'Let the gateway log in as a role of its own, and grant it the anonymous one.',
  bad: {
    text: 'location /api/ { dbrest_pass postgresql://web@localhost/app; dbrest_schemas api; dbrest_anon_role web; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass postgresql://authenticator@localhost/app; dbrest_schemas api; dbrest_anon_role web; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block, settings } of servedDatabases(config)) {
      const { pass, anonRole } = settings;
      if (pass?.kind !== 'server' || anonRole === undefined || pass.target.user !== anonRole) continue;
      if (isSuperuser(anonRole)) continue;
      yield {
        at: block.from('dbrest').get('anonRole')?.nodes[0] ?? node,
        message: `"dbrest_anon_role" is the role that "dbrest_pass" logs in with, so requests have all its rights`,
        related: [{ span: node.name.span, label: 'logs in as the same' }],
      };
    }
  },
};
