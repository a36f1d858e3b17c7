import type { Rule } from '../../rule.ts';

export const storeUnreachable: Rule = {
  id: 'GW750',
  slug: 'store-unreachable',
  severity: 'error',
  live: true,
  summary: 'a store that cannot be reached',
  why: 'The gateway starts, and its location answers 502 until the store is there.',
  fix: 'See that it runs, and that the address is right.',
  bad: {
    text: `# nothing listens there
location = /hits { kv_pass 127.0.0.1:6380; kv_key hits; kv_command get; }`,
  },
  good: {
    text: `# Redis listens there
location = /hits { kv_pass 127.0.0.1:6379; kv_key hits; kv_command get; }`,
  },
};
