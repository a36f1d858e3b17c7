import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { isSuperuser, settingsOf } from './settings.ts';

export const dbrestSuperuserAnon: Rule = {
  id: 'GW602',
  slug: 'dbrest-superuser-no-anon',
  severity: 'error',
  summary: 'unauthenticated requests run as a superuser',
  why: 'Everybody reads and writes everything: neither privileges nor row security hold for a superuser.',
  fix: 'Name a role that was granted only what everybody may do.',
  bad: { text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role postgres; }' },
  good: { text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('dbrest_anon_role')) {
      const { anonRole } = settingsOf(block);
      if (!isSuperuser(anonRole)) continue;
      yield {
        at: node,
        message: `unauthenticated requests run as "${anonRole}", a superuser`,
        hint: 'name a role that was granted only what everybody may do',
      };
    }
  },
};
