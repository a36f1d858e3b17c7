import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

const PROBES = /^(?:health|live|ready)$/;

export const healthInAccessLog: Rule = {
  id: 'GW818',
  slug: 'health-in-access-log',
  severity: 'info',
  summary: 'probes fill the access log',
  why: 'A load balancer asks every second or so: what people do is hard to find between, and the numbers of requests tell nothing.',
  fix: 'Add access_log off to the location.',
  bad: {
    in: 'http',
    text: 'access_log /dev/stdout; server { listen 127.0.0.1:8080; location = /live { control_api live; } }',
  },
  good: {
    in: 'http',
    text: `access_log /dev/stdout;
server { listen 127.0.0.1:8080; location = /live { control_api live; access_log off; } }`,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('control_api')) {
      const endpoint = node.args[0]?.value ?? '';
      const logs = block.effective('access_log').filter(({ args }) => args[0]?.value !== 'off');
      if (!PROBES.test(endpoint) || logs.length === 0) continue;
      yield {
        at: node,
        message: `each request for "${endpoint}" is a line of the access log`,
        hint: 'add access_log off to the location',
      };
    }
  },
};
