import type { Rule } from '../../rule.ts';

export const duplicateDirective: Rule = {
  id: 'GW109',
  slug: 'duplicate-directive',
  severity: 'error',
  summary: 'something that may stand once stands twice',
  why: 'Which of the two was meant cannot be known.',
  fix: 'Delete one of them; the second place is the first of them.',
  bad: { text: 'root /srv/old;\nroot /srv/new;' },
  good: { text: 'root /srv/new;' },
};
