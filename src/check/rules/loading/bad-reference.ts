import type { Rule } from '../../rule.ts';

export const badReference: Rule = {
  id: 'GW114',
  slug: 'bad-reference',
  severity: 'error',
  summary: 'a name that nothing declares',
  why: 'The zone, log format or dictionary that a directive asks for does not exist, so the configuration does not load.',
  fix: 'Declare it, or correct the name.',
  bad: { text: 'access_log /dev/stdout json;' },
  good: { text: 'access_log /dev/stdout combined;' },
};
