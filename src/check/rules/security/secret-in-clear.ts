import { writtenSecrets } from '../../secrets.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const secretInClear: Rule = {
  id: 'GW320',
  slug: 'secret-in-clear',
  severity: 'warning',
  summary: 'a password or a key stands in the configuration',
  why: 'It ends up in version control, in backups and in everything that shows the configuration.',
  fix: 'Let the environment or a file hold it: "${env:NAME}" or "${file:/run/secrets/name}".',
  bad: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header Authorization "Bearer 3f9c0e6b1d";',
  },
  good: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header Authorization "Bearer ${file:token}";',
    files: { token: '3f9c0e6b1d' },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, span } of writtenSecrets(config))
      yield {
        at: span,
        message: `"${node.name.value}" has its secret in the configuration`,
        hint: 'use "${env:NAME}" or "${file:PATH}"',
      };
  },
};
