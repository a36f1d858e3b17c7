import type { Rule } from '../../rule.ts';

export const dbrestSchemaMissing: Rule = {
  id: 'GW653',
  slug: 'dbrest-schema-missing',
  severity: 'error',
  live: true,
  summary: 'a schema that the database does not have',
  why: 'Every request for it fails.',
  fix: 'Correct the name, or create the schema.',
  bad: {
    text: `# there is no schema "apy"
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas apy; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# create schema api
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};
