import { exposed } from '../../exposure.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { KEEP_OUT } from '../keep-out.ts';

export const statusExposed: Rule = {
  id: 'GW315',
  slug: 'status-exposed',
  severity: 'warning',
  summary: 'stub_status or metrics that everybody may read',
  why: 'Numbers of requests, locations and upstreams tell strangers how the gateway is built and when it is weak.',
  fix: 'Let in only whom you know: allow and deny, a loopback address, a Unix socket.',
  bad: { in: 'http', text: 'server { listen 80; location = /status { stub_status; } }' },
  good: {
    in: 'http',
    text: 'server { listen 80; location = /status { allow 127.0.0.1; deny all; stub_status; } }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of exposed(config, 'status-exposed')) {
      const text = [node.name, ...node.args].map(({ value }) => value).join(' ');
      yield { at: node, message: `"${text}" can be read by everybody`, hint: KEEP_OUT };
    }
  },
};
