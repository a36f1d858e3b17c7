import type { Rule } from '../../rule.ts';

export const duplicateLocation: Rule = {
  id: 'GW204',
  slug: 'duplicate-location',
  severity: 'error',
  summary: 'two locations of one block with the same path',
  why: 'Which of the two should answer cannot be known.',
  fix: 'Delete one of them, or make one of them exact ("=").',
  bad: { text: 'location /a { return 204; }\nlocation ^~ /a { return 404; }' },
  good: { text: 'location /a { return 204; }\nlocation = /a { return 404; }' },
};
