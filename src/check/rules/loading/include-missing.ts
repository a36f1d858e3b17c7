import type { Rule } from '../../rule.ts';

export const includeMissing: Rule = {
  id: 'GW110',
  slug: 'include-missing',
  severity: 'error',
  summary: 'an included file that is not there or cannot be read',
  why: 'A part of the configuration is missing. A mask such as "sites/*.conf" may match nothing, a name may not.',
  fix: 'Correct the path, which starts at the folder of the main file, or write a mask.',
  bad: { text: 'include headers.conf;' },
  good: { text: 'include headers.conf;', files: { 'headers.conf': 'add_header X-Robots-Tag noindex;' } },
};
