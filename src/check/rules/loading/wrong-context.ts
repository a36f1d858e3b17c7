import type { Rule } from '../../rule.ts';

export const wrongContext: Rule = {
  id: 'GW106',
  slug: 'wrong-context',
  severity: 'error',
  summary: 'a directive in a block that it cannot stand in',
  why: 'The configuration does not load.',
  fix: 'Move it to one of the blocks that the hint names.',
  bad: { text: 'worker_processes 2;' },
  good: { in: 'main', text: 'worker_processes 2;\nhttp { }' },
};
