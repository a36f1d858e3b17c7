import type { Rule } from '../../rule.ts';

export const storeReadOnly: Rule = {
  id: 'GW752',
  slug: 'store-read-only',
  severity: 'error',
  live: true,
  summary: 'a writing command on a replica',
  why: 'Every request fails: a replica takes writes from its master only.',
  fix: 'Name the master.',
  bad: {
    text: `# its redis.conf says: replicaof
location = /hits { kv_pass 127.0.0.1:6379; kv_key hits; kv_command incr; }`,
  },
  good: {
    text: `# it is a master
location = /hits { kv_pass 127.0.0.1:6379; kv_key hits; kv_command get; }`,
  },
};
