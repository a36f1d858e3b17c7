import { exposed } from '../../exposure.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { KEEP_OUT } from '../keep-out.ts';

export const kvWritePublic: Rule = {
  id: 'GW701',
  slug: 'kv-write-public',
  severity: 'error',
  summary: 'a command that changes the store, and that everybody may call',
  why: 'Whoever finds the address changes, deletes or fills the store.',
  fix: 'Let in only whom you know: allow and deny, auth_basic or auth_request, a loopback address, a Unix socket.',
  bad: {
    in: 'http',
    text: 'server { listen 80; location /set/ { kv_pass 127.0.0.1:6379; kv_key s:$uri; kv_command del; } }',
  },
  good: {
    in: 'http',
    text: `server {
  listen 80;
  location /set/ { allow 10.0.0.0/8; deny all; kv_pass 127.0.0.1:6379; kv_key s:$uri; kv_command del; }
}`,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of exposed(config, 'kv-write-public')) {
      yield {
        at: node,
        message: `"kv_command ${node.args[0]?.value}" can be called by everybody`,
        hint: KEEP_OUT,
      };
    }
  },
};
