import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const servesAsRoot: Rule = {
  id: 'GW911',
  slug: 'serves-as-root',
  severity: 'warning',
  summary: 'what serves requests keeps the rights of root',
  why: 'Whatever goes wrong in a request then goes wrong as root: a path that leads too far reads any file of the machine.',
  fix: 'Name an account of its own: ports, keys and logs that only root can open are opened before it takes over.',
  bad: { in: 'main', text: 'user root;' },
  good: { in: 'main', text: 'user nobody;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('user')) {
      if (node.args[0]?.value !== 'root') continue;
      yield { at: node, message: '"user root" serves requests with the rights of root' };
    }
  },
};
