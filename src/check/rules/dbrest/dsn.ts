import type { Rule } from '../../rule.ts';

export const dbrestDsn: Rule = {
  id: 'GW616',
  slug: 'dbrest-dsn',
  severity: 'error',
  summary: 'a connection string that cannot be read',
  why: 'The configuration does not load.',
  fix: 'Write keywords as libpq takes them ("host=… dbname=…"), or a URI: postgresql://user@host/dbname.',
  bad: {
    text: 'location /api/ { dbrest_pass "host=localhost prot=5432"; dbrest_schemas api; dbrest_anon_role anon; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass "host=localhost port=5432"; dbrest_schemas api; dbrest_anon_role anon; }',
  },
};
