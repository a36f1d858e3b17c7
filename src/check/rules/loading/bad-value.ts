import type { Rule } from '../../rule.ts';

export const badValue: Rule = {
  id: 'GW108',
  slug: 'bad-value',
  severity: 'error',
  summary: 'a value that the directive does not take',
  why: 'The configuration does not load.',
  fix: 'Write a value of the kind that the hint names.',
  bad: { text: 'autoindex onn;' },
  good: { text: 'autoindex on;' },
};
