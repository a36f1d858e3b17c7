import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const tmpPathShared: Rule = {
  id: 'GW910',
  slug: 'tmp-path-shared',
  severity: 'warning',
  summary: 'files of requests in a directory that all users share',
  why: 'Others on the machine see which files come and go, and can take their names beforehand; cleaners delete them in use.',
  fix: 'Name a directory of its own, for the user of the gateway alone.',
  bad: { text: 'client_body_temp_path /tmp;' },
  good: { text: 'client_body_temp_path /var/lib/gw/bodies;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('client_body_temp_path', 'proxy_temp_path')) {
      const path = node.args[0]?.value.replace(/(?<=.)\/+$/, '') ?? '';
      if (!/^\/(?:tmp|var\/tmp|dev\/shm)$/.test(path)) continue;
      yield { at: node, message: `"${node.name.value} ${path}" is a directory that all users share` };
    }
  },
};
