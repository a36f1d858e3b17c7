import { rewritten } from '../../edits.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const versionDisclosure: Rule = {
  id: 'GW311',
  slug: 'version-disclosure',
  severity: 'warning',
  summary: '"server_tokens" tells everybody the version',
  why: 'Who knows the version knows which holes to try.',
  fix: 'Say "server_tokens off".',
  bad: { text: 'server_tokens on;' },
  good: { text: 'server_tokens off;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('server_tokens')) {
      const [word] = node.args;
      if (word?.value !== 'on' && word?.value !== 'build') continue;
      yield {
        at: node,
        message: `"server_tokens ${word.value}" tells everybody the version`,
        fix: { title: 'say "off"', safe: true, edits: [rewritten(word, 'off')] },
      };
    }
  },
};
