import type { Rule } from '../../rule.ts';

export const dbrestServerOld: Rule = {
  id: 'GW654',
  slug: 'dbrest-server-old',
  severity: 'error',
  live: true,
  summary: 'a PostgreSQL that is too old',
  why: 'Statements that gw writes are not understood.',
  fix: 'Use PostgreSQL 12 or later.',
  bad: {
    text: `# select version(): PostgreSQL 11
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# select version(): PostgreSQL 16
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};
