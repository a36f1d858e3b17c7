import type { Rule } from '../../rule.ts';

export const kvDangerous: Rule = {
  id: 'GW703',
  slug: 'kv-dangerous',
  severity: 'error',
  summary: 'a command that concerns the whole store',
  why: 'FLUSHALL, CONFIG, EVAL, KEYS and their like empty, stop, block or take over a store: no location may run them, and the configuration does not load.',
  fix: 'Use one of the fourteen commands for one key; do the rest with redis-cli.',
  bad: { text: 'location = /clear { kv_pass 127.0.0.1:6379; kv_key x; kv_command flushall; }' },
  good: { text: 'location = /clear { kv_pass 127.0.0.1:6379; kv_key x; kv_command del; }' },
};
