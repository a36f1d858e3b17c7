import type { Rule } from '../../rule.ts';

export const unknownDirective: Rule = {
  id: 'GW105',
  slug: 'unknown-directive',
  severity: 'error',
  summary: 'a directive that neither nginx nor gw has',
  why: 'The configuration does not load.',
  fix: 'Correct the name; the hint shows the nearest one that is legal in this block.',
  bad: { text: 'retrun 200;' },
  good: { text: 'return 200;' },
};
