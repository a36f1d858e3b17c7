import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const errorLogOff: Rule = {
  id: 'GW902',
  slug: 'error-log-off',
  severity: 'warning',
  summary: 'error_log off, which is the name of a file',
  why: 'Unlike access_log, error_log cannot be turned off: errors go on being written, into a file named "off".',
  fix: 'Say what is wanted: error_log /dev/null emerg writes next to nothing.',
  bad: { text: 'error_log off;' },
  good: { text: 'error_log /dev/null emerg;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('error_log')) {
      if (node.args[0]?.value !== 'off') continue;
      yield {
        at: node,
        message: '"error_log off" writes to a file named "off"',
        hint: 'error_log /dev/null emerg writes next to nothing',
      };
    }
  },
};
