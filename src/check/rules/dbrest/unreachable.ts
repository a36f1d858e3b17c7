import type { Rule } from '../../rule.ts';

export const databaseUnreachable: Rule = {
  id: 'GW656',
  slug: 'database-unreachable',
  severity: 'error',
  live: true,
  summary: 'a database that cannot be reached',
  why: 'The gateway starts, and its location answers 503 until the database is there.',
  fix: 'See that it runs, that the address and the login are right, and that pg_hba.conf lets the gateway in.',
  bad: {
    text: `# nothing listens there
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# PostgreSQL listens there
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};
