import { exposed } from '../../exposure.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { KEEP_OUT } from '../keep-out.ts';

export const controlPublic: Rule = {
  id: 'GW811',
  slug: 'control-public',
  severity: 'error',
  summary: 'the control surface or the console, open to everybody',
  why: 'Whoever finds the address switches feature flags and reads what the gateway is made of: the control surface leaves it to the configuration who may call it.',
  fix: 'Let in only whom you know: allow and deny, auth_basic or auth_request, a loopback address, a Unix socket.',
  bad: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
server { listen 80; location /runtime/ { control_api; } }`,
  },
  good: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
server { listen 127.0.0.1:80; location /runtime/ { control_api; } }`,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of exposed(config, 'control-public')) {
      yield { at: node, message: `"${node.name.value}" can be called by everybody`, hint: KEEP_OUT };
    }
  },
};
