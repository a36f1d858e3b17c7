import type { Rule } from '../../rule.ts';

export const badRegex: Rule = {
  id: 'GW113',
  slug: 'bad-regex',
  severity: 'error',
  summary: 'a pattern that cannot be read, or that has no equivalent here',
  why: 'Patterns are written in the syntax of PCRE and run by the engine of JavaScript, which has no recursion and no conditions.',
  fix: 'Rewrite the part that the caret marks.',
  bad: { text: 'location ~ ^/(a(?R)?b)$ { return 204; }' },
  good: { text: 'location ~ ^/a+b+$ { return 204; }' },
};
