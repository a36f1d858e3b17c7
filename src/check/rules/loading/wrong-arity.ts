import type { Rule } from '../../rule.ts';

export const wrongArity: Rule = {
  id: 'GW107',
  slug: 'wrong-arity',
  severity: 'error',
  summary: 'too many or too few words for a directive',
  why: 'The configuration does not load; most often a value with a blank in it is not quoted.',
  fix: 'Quote the value, or give the words that the hint shows.',
  bad: { text: 'root /srv/my site;' },
  good: { text: 'root "/srv/my site";' },
};
