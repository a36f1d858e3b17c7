import type { Rule } from '../../rule.ts';

export const dbrestTableOpen: Rule = {
  id: 'GW652',
  slug: 'dbrest-table-open',
  severity: 'warning',
  live: true,
  summary: 'a table that strangers get at as a whole',
  why: 'The anonymous role was granted the table, and no row security says which rows.',
  fix: 'Enable row level security and write policies, or revoke the privilege; say that it is meant where it is: # gw-ignore GW652: ….',
  bad: {
    text: `# grant select on api.users to anon
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# alter table api.users enable row level security
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};
