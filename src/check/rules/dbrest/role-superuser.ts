import type { Rule } from '../../rule.ts';

export const dbrestRoleSuperuser: Rule = {
  id: 'GW650',
  slug: 'dbrest-role-superuser',
  severity: 'error',
  live: true,
  summary: 'a role that no privilege and no row security holds for',
  why: 'Every request that comes to act as it reads and writes everything.',
  fix: 'Take superuser and bypassrls from the role, or log in as another: create role authenticator login noinherit.',
  bad: {
    text: `# create role admin login superuser
location /api/ { dbrest_pass postgresql://admin@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# create role authenticator login noinherit
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};
