import type { Rule } from '../../rule.ts';

export const missingSemicolon: Rule = {
  id: 'GW102',
  slug: 'missing-semicolon',
  severity: 'error',
  summary: 'a directive without ";" at its end',
  why: 'The next line becomes arguments of this one.',
  fix: 'Add the ";" where the caret is.',
  bad: { text: 'root /srv/www\nindex index.html;' },
  good: { text: 'root /srv/www;\nindex index.html;' },
};
