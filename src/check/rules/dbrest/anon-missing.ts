import type { Rule } from '../../rule.ts';

export const dbrestAnonMissing: Rule = {
  id: 'GW651',
  slug: 'dbrest-anon-missing',
  severity: 'error',
  live: true,
  summary: 'an anonymous role that the gateway cannot become',
  why: 'Every request without a token fails.',
  fix: 'Create the role, and grant it to the one that dbrest_pass logs in with.',
  bad: {
    text: `# there is no role "nobody"
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role nobody; }`,
  },
  good: {
    text: `# grant anon to authenticator
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};
