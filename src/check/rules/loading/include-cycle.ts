import type { Rule } from '../../rule.ts';

export const includeCycle: Rule = {
  id: 'GW111',
  slug: 'include-cycle',
  severity: 'error',
  summary: 'a file that includes itself, directly or by others',
  why: 'The file would be read without end.',
  fix: 'Take one of the includes out; the message shows the whole circle.',
  bad: { text: 'include a.conf;', files: { 'a.conf': 'include b.conf;', 'b.conf': 'include a.conf;' } },
  good: { text: 'include a.conf;', files: { 'a.conf': 'include b.conf;', 'b.conf': 'autoindex off;' } },
};
