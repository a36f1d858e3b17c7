import type { Rule } from '../../rule.ts';

export const unexpectedToken: Rule = {
  id: 'GW101',
  slug: 'unexpected-token',
  severity: 'error',
  summary: 'a brace, a semicolon or a quote where none can stand',
  why: 'The structure of the blocks is broken: what follows may stand in another block than it was written for, so nothing of it is loaded.',
  fix: 'Remove it, or add what is missing before it; the second place is the brace that closes too early.',
  bad: { text: 'location / { return 204; }\n}' },
  good: { text: 'location / { return 204; }' },
};
