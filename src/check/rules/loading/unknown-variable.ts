import type { Rule } from '../../rule.ts';

export const unknownVariable: Rule = {
  id: 'GW112',
  slug: 'unknown-variable',
  severity: 'error',
  summary: 'a variable that neither gw nor the configuration has',
  why: 'The configuration does not load.',
  fix: 'Correct the name; the hint shows the nearest one.',
  bad: { text: 'add_header X-Server $hostnam;' },
  good: { text: 'add_header X-Server $hostname;' },
};
