import type { Rule } from '../../rule.ts';

export const storeRefused: Rule = {
  id: 'GW751',
  slug: 'store-refused',
  severity: 'error',
  live: true,
  summary: 'a store that refuses the login',
  why: 'Every request fails.',
  fix: 'Name user and password in the address: redis://user:${file:/run/secrets/redis}@host.',
  bad: {
    text: `# its redis.conf says: requirepass
location = /hits { kv_pass 127.0.0.1:6379; kv_key hits; kv_command get; }`,
  },
  good: {
    text: `# its redis.conf says: requirepass
location = /hits { kv_pass "redis://:\${file:redis.password}@127.0.0.1:6379"; kv_key hits; kv_command get; }`,
    files: { 'redis.password': '8hYqPz3vTn' },
  },
};
