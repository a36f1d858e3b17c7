import type { Rule } from '../../rule.ts';

export const dbrestEmbedUnindexed: Rule = {
  id: 'GW655',
  slug: 'dbrest-embed-unindexed',
  severity: 'info',
  live: true,
  summary: 'a foreign key that no index supports',
  why: 'A request that embeds along it reads the whole table, once for each row.',
  fix: 'Create an index on the columns of the foreign key.',
  bad: {
    text: `# orders.client_id references clients, without an index
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# create index on api.orders (client_id)
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};
