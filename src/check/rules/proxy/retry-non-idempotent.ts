import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const retryNonIdempotent: Rule = {
  id: 'GW416',
  slug: 'retry-non-idempotent',
  severity: 'warning',
  summary: 'requests that change something may be sent twice',
  why: 'A POST whose answer did not come may have been carried out all the same; the next server does it again: two orders, two payments.',
  fix: 'Leave "non_idempotent" out, or set it only where the upstream recognises repeated requests.',
  bad: {
    in: 'http',
    text: 'proxy_next_upstream error timeout non_idempotent;',
  },
  good: { in: 'http', text: 'proxy_next_upstream error timeout;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('proxy_next_upstream')) {
      const word = node.args.find(({ value }) => value === 'non_idempotent');
      if (word) yield { at: word.span, message: '"non_idempotent" may send a POST to two servers' };
    }
  },
};
